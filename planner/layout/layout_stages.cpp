// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/layout_stages.hpp"

#include <algorithm>

#include "core/plan/constraints.hpp"
#include "core/plan/stage_override.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

std::int64_t key(int stage, int first, int end) {
  return (std::int64_t{stage} << 40) | (std::int64_t{first} << 20) | end;
}

}  // namespace

LayoutStages::LayoutStages(const Estimator& estimator, const Problem& problem,
                           const SearchConfig& config, std::int64_t usable, const Plan& plan)
    : estimator_(estimator),
      problem_(problem),
      config_(config),
      usable_(usable),
      plan_(plan),
      stages_(plan.attention.pp),
      layers_(static_cast<int>(problem.model.layers)),
      pieces_(layers_ + (problem.model.mtp_layers > 0 ? 1 : 0) + 1) {}

Cuts LayoutStages::own_cuts() const {
  Cuts cuts{0};
  for (const VirtualStage& s : stage_layout(plan_, problem_.model)) {
    const int pieces = static_cast<int>(s.layers) + (s.mtp ? 1 : 0) + (s.loss ? 1 : 0);
    if (pieces == 0 && cuts.size() > 1) return {};
    cuts.push_back(cuts.back() + pieces);
  }
  return cuts;
}

std::vector<VirtualStage> LayoutStages::stages_of(const Cuts& cuts) const {
  const bool mtp = pieces_ > layers_ + 1;
  std::vector<VirtualStage> stages;
  for (int s = 0; s < stages_; ++s) {
    const int first = std::min(cuts[index(s)], layers_),
              end = std::min(cuts[index(s + 1)], layers_);
    stages.push_back({.embedding = s == 0,
                      .first_layer = first,
                      .layers = end - first,
                      .mtp = mtp && cuts[index(s)] <= layers_ && cuts[index(s + 1)] > layers_,
                      .loss = s + 1 == stages_});
  }
  return stages;
}

Plan LayoutStages::with(const Cuts& cuts) const {
  Plan plan = plan_;
  plan.layout = to_layout_string(stages_of(cuts));
  return plan;
}

bool LayoutStages::valid(const Cuts& cuts) const {
  const Plan plan = with(cuts);
  return violations({problem_.model, problem_.workload, plan, config_.gpus}).empty() &&
         builds_layout(config_.runtime, problem_.model, plan);
}

Cuts LayoutStages::around(int stage, int first, int end) const {
  Cuts cuts(index(stages_ + 1));
  for (int s = 0; s <= stage; ++s) cuts[index(s)] = stage == 0 ? 0 : first * s / stage;
  const int after = stages_ - 1 - stage;
  for (int s = 0; s <= after; ++s) {
    cuts[index(stage + 1 + s)] = after == 0 ? end : end + (pieces_ - end) * s / after;
  }
  return cuts;
}

bool LayoutStages::price(const Cuts& cuts) {
  const Plan plan = with(cuts);
  if (!violations({problem_.model, problem_.workload, plan, config_.gpus}).empty()) return false;
  for (int s = 0; s < stages_; ++s) {
    const auto [entry, fresh] = options_.try_emplace(key(s, cuts[index(s)], cuts[index(s + 1)]));
    if (!fresh && entry->second.fits) continue;
    const PlanStages known =
        estimator_.stages(plan.stages.empty() ? plan : plan_of_stage(plan, Stage{s}));
    if (!timer_) {
      table_ = known.table;
      timer_.emplace(known.table, slowest_excess(problem_.workload, problem_.profile,
                                                 problem_.cluster, plan.world()));
    }
    entry->second = priced(s, *(*known.records)[index(s)]);
  }
  return true;
}

StageOption LayoutStages::priced(int stage, const StageRecord& record) const {
  StageOption o{.fits = false, .busy = {}, .row = stage_row(record, *table_),
                .memory = stage_memory(Stage{stage}, record, table_->work[index(stage)])};
  o.busy = o.row.prologue;
  for (std::size_t i = 0; i < o.row.slots.size(); ++i) {
    o.busy += o.row.slots[i] * table_->times[index(stage)][i];
  }
  for (const StepOpCost& op : o.row.epilogue) o.busy += op.exposed;
  o.fits = o.memory.peak <= usable_;
  return o;
}

const StageOption& LayoutStages::option(int stage, int first, int end) {
  const auto known = options_.find(key(stage, first, end));
  if (known != options_.end()) return known->second;
  // The rule that the plan breaks may be about another stage than this one.
  if (!price(around(stage, first, end))) left_out_ = true;
  return options_[key(stage, first, end)];
}

}  // namespace pleat
