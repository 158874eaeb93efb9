// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// LAMB in Pleat's dialect: trust ratios are of whole parameters.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/plan/rank_map.hpp"
#include "core/program/bucket_step.hpp"
#include "core/program/bucket_sync.hpp"
#include "core/program/optimizer_step.hpp"

namespace pleat {

void OptimizerStep::step_whole_parameters(std::int64_t resident, std::int64_t reloaded) {
  std::vector<BucketSegment> parts;
  if (resident > 0) {
    parts.push_back({"", resident, bucket().main_params, bucket().exp_avg, bucket().exp_avg_sq});
    keep(parts.back());
  }
  const int first = last_op() + 1;
  std::vector<TensorId> here, there;
  if (reloaded > 0) {
    parts.push_back(add_segment(".reloaded", reloaded, TensorClass::optimizer_state));
    const BucketSegment kept = add_segment(".kept_on_host", reloaded, TensorClass::host_state);
    keep(kept);
    here = state_of(parts.back()), there = state_of(kept);
  }
  for (std::size_t i = 0; i < here.size(); ++i) {
    push(OpKind::reload_state, reload_name(here[i]), {there[i]}, {here[i]});
  }
  lamb(parts);
  for (std::size_t i = 0; i < here.size(); ++i) {
    push(OpKind::offload_state, reload_name(here[i]) + ".back", {here[i]}, {there[i]});
  }
  for (TensorId id : here) stage_.step_lives.push_back({id, first, last_op()});
}

void OptimizerStep::lamb(const std::vector<BucketSegment>& parts) {
  BucketState& b = stage_.buckets[index_];
  b.parameters = parameters_of(stage_, index_);
  const auto count = static_cast<std::int64_t>(b.parameters.size());
  const TensorId norms = add_state(stage_, name_ + ".norms", TensorClass::step_scratch,
                                   DType::fp32, {{count}, {2}});  // of the weight, of the step
  const auto on_part = [](Op& op, const BucketSegment& s) {
    op.attr.first = s.first;
    op.attr.n = {s.elements};
  };
  std::vector<TensorId> measured{b.gradients};
  for (const BucketSegment& s : parts) {
    on_part(push(OpKind::lamb, s.suffix + ".lamb",
                 {b.gradients, s.exp_avg, s.exp_avg_sq, s.main_params, scale_},
                 {s.exp_avg, s.exp_avg_sq, b.gradients}),
            s);
    if (measured.back() != s.main_params) measured.push_back(s.main_params);
  }
  push(OpKind::lamb_norms, ".norms", measured, {norms}).attr.n = {b.shard_elements};
  const int first = last_op();
  const bool experts = index_ % 2 == 1;
  const auto add_up = [&](const char* what, Group group) {
    if (group_size(plan_, group) == 1) return;
    push(OpKind::all_reduce, what, {norms}, {norms}).group = group;
  };
  if (plan_.sharding != Sharding::none) {
    add_up(".norms.shards", shard_groups(plan_, experts).shard);
    add_up(".norms.copies", Group::copies);
  }
  add_up(".norms.parts", experts ? Group::etp : Group::tp);
  if (index_ == 0 && stage_.table) share_table_norms(norms);
  for (const BucketSegment& s : parts) {
    on_part(push(OpKind::lamb_step, s.suffix + ".apply", {b.gradients, s.main_params, norms},
                 {s.main_params}),
            s);
  }
  stage_.step_lives.push_back({norms, first, last_op()});
  for (const BucketSegment& s : parts) cast(s);
}

// Stages that hold the table cut it into other shards, so that sums of its squares differ in their
// last bits, and with them the copies. All step by the ratio of both sums over all stages.
void OptimizerStep::share_table_norms(TensorId norms) {
  const std::vector<ParameterRange>& all = bucket().parameters;
  const auto table = std::ranges::find(all, stage_.table->slot.offset, &ParameterRange::first);
  PLEAT_ASSERT(table != all.end());
  Op& op = push(OpKind::all_reduce, ".norms.table", {norms}, {norms});
  op.group = Group::embedding;
  op.attr.first = 2 * (table - all.begin());
  op.attr.n = {2};
  op.attr.run = static_cast<std::int64_t>(stage_.table->stages.size());
}

}  // namespace pleat
