// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/lighter_layouts.hpp"

#include <algorithm>

#include "core/plan/layout.hpp"
#include "core/program/compile_stage.hpp"
#include "core/program/pipeline_order.hpp"
#include "planner/layout/moved_layer.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMostFrom = 4;  // chunks of the fullest rank; the first ones are held longest
constexpr std::size_t kMostTo = 4;    // ranks
constexpr int kMostShifted = 2;       // layers of each rank

using Layout = std::vector<VirtualStage>;

// In the order of the layers.
std::vector<std::size_t> stages_of(const Schedule& order, Stage rank) {
  std::vector<std::size_t> stages;
  for (int c = 0; c < chunks_of_stage(order); ++c) {
    stages.push_back(static_cast<std::size_t>(virtual_stage(order, rank, ChunkId{c})));
  }
  std::ranges::sort(stages);
  return stages;
}

// One layer from the fullest rank to one of those that are the least busy.
void add_moved(const Candidate& from, const Layout& own, const Schedule& order, Stage fullest,
               std::vector<Layout>& found) {
  std::vector<StageTime> others = from.estimate.stages;
  std::erase_if(others, [&](const StageTime& s) { return s.stage == fullest; });
  std::ranges::stable_sort(others, {}, &StageTime::busy);
  if (others.size() > kMostTo) others.resize(kMostTo);
  std::vector<std::size_t> sources = stages_of(order, fullest);
  std::erase_if(sources, [&](std::size_t s) { return own[s].layers == 0; });
  if (sources.size() > kMostFrom) sources.resize(kMostFrom);
  for (const std::size_t source : sources) {
    for (const StageTime& other : others) {
      const std::vector<std::size_t> stages = stages_of(order, other.stage);
      const std::size_t to = *std::ranges::min_element(
          stages, {}, [&](std::size_t s) { return own[s].layers; });
      if (to != source) found.push_back(with_moved_layer(own, source, to));
    }
  }
}

// One or two layers from the first chunk of the fullest rank, of the first half of the ranks or of
// all of them to the last chunk of the same rank: activations of the first chunk are kept longest.
void add_shifted(const Layout& own, const Schedule& order, Stage fullest,
                 std::vector<Layout>& found) {
  for (const int ranks : {1, order.pp / 2, order.pp}) {
    Layout layout = own;
    for (int shifted = 0; shifted < kMostShifted; ++shifted) {
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<std::size_t> stages =
            stages_of(order, ranks == 1 ? fullest : Stage{rank});
        const std::size_t first = stages.front(), last = stages.back();
        if (layout[first].layers > 0) layout = with_moved_layer(std::move(layout), first, last);
      }
      found.push_back(layout);
    }
  }
}

}  // namespace

std::vector<Plan> lighter_layouts(const Problem& problem, const Candidate& from) {
  std::vector<Plan> plans;
  if (from.plan.attention.pp == 1) return plans;
  const Schedule order = schedule_of(from.plan, problem.workload);
  const Layout own = stage_layout(from.plan, problem.model);
  const Stage fullest = from.estimate.fullest_stage().stage;
  std::vector<Layout> found;
  if (from.plan.schedule == PipelineSchedule::one_f_one_b && order.vpp > 1) {
    add_shifted(own, order, fullest, found);
  }
  add_moved(from, own, order, fullest, found);
  for (const Layout& layout : found) {
    if (layout == own) continue;
    plans.push_back(from.plan);
    plans.back().layout = to_layout_string(layout);
  }
  return plans;
}

}  // namespace pleat
