// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout_bound.hpp"

#include <algorithm>
#include <limits>

#include "planner/layer_bounds.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/estimator.hpp"
#include "simulator/summarise_step.hpp"

namespace pleat {
namespace {

// The plan in which all decoder layers of a kind are treated the same, with no more work than `plan`.
Plan with_like_layers(Plan plan) {
  plan.stages.clear();
  plan.offload_layers = 0;
  if (plan.recompute_full && (plan.recompute_layers > 0 || plan.recompute_unit > 1)) {
    plan.recompute_full = false;
    plan.recompute_layers = 0;
    plan.recompute_unit = 1;
  }
  return plan;
}

// The least that each layer of one microbatch takes, both passes, in the order of the model.
std::vector<Seconds> layer_times(const ModelSpec& model, const Plan& plan, const PlanParts& parts,
                                 const Profile& profile) {
  const CountedLayers counted(model);
  const std::vector<LayerBound> bounds = bound_layers(
      counted, *parts.library,
      {.paired = plan.overlap.expert_parallel, .split = splits_backward(plan.schedule)},
      BoundScope::setting, kClockSteps, profile);
  const Schedule order{.pp = plan.attention.pp, .vpp = plan.vpp, .kind = plan.schedule};
  std::vector<std::vector<Seconds>> of_stage(static_cast<std::size_t>(virtual_stages(order)));
  for (int s = 0; s < order.pp; ++s) {
    const StageComposition& stage = (*parts.stages)[static_cast<std::size_t>(s)];
    for (int c = 0; c < chunks_of_stage(order); ++c) {
      auto& times =
          of_stage[static_cast<std::size_t>(virtual_stage(order, Stage{s}, ChunkId{c}))];
      times.clear();  // dualpipe: two stages hold a copy each
      for (const PlacedLayer& placed : stage.chunks[static_cast<std::size_t>(c)]) {
        const int layer =
            counted.index_of(stage.variants[static_cast<std::size_t>(placed.variant)]);
        if (layer < 0) continue;
        const LayerBound& bound = bounds[static_cast<std::size_t>(layer)];
        times.push_back(bound.time[0] + bound.time[1]);
      }
    }
  }
  std::vector<Seconds> all;
  for (const auto& times : of_stage) all.insert(all.end(), times.begin(), times.end());
  return all;
}

// Over all partitions the least of max over stages of (work before the stage + m times its own).
Seconds least_pipeline(const std::vector<Seconds>& layers, int stages, double microbatches) {
  std::vector<Seconds> before{Seconds(0)};
  for (const Seconds time : layers) before.push_back(before.back() + time);
  const std::size_t n = layers.size();
  const Seconds none(std::numeric_limits<double>::infinity());
  std::vector<Seconds> least(n + 1, none), next;  // of the first layers on the stages so far
  least[0] = Seconds(0);
  for (int s = 0; s < stages; ++s) {
    next.assign(n + 1, none);
    for (std::size_t end = 0; end <= n; ++end) {
      for (std::size_t first = 0; first <= end; ++first) {
        const Seconds own = before[first] + microbatches * (before[end] - before[first]);
        next[end] = std::min(next[end], std::max(least[first], own));
      }
    }
    least.swap(next);
  }
  return least[n];
}

}  // namespace

Seconds layout_bound(const ModelSpec& model, const ClusterSpec& cluster,
                     const WorkloadSpec& workload, const Profile& profile,
                     const SearchConfig& config, const Plan& plan) {
  const Estimator estimator(model, workload, cluster, profile, config.runtime);
  const Plan like = with_like_layers(plan);
  const std::vector<Seconds> layers =
      layer_times(model, like, estimator.parts(like), profile);
  const auto microbatches = static_cast<double>(plan.microbatches(workload.global_batch));
  Seconds pipeline;
  if (plan.vpp == 1 && plan.schedule == PipelineSchedule::one_f_one_b) {
    pipeline = least_pipeline(layers, plan.attention.pp, microbatches);
  } else {
    for (const Seconds time : layers) pipeline += time;
    pipeline *= microbatches / plan.attention.pp;
  }
  const auto stages = static_cast<std::size_t>(plan.attention.pp);
  return pipeline * ((1 + workload.straggler_slowdown) *
                     least_share(cluster, plan.world(), stages)) +
         profile.step_overhead;
}

}  // namespace pleat
