// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon: matrices of a bucket put together, Newton-Schulz iterations, the step.
#include <algorithm>

#include "core/program/bucket_step.hpp"
#include "core/program/bucket_sync.hpp"

namespace pleat {

void OptimizerStep::muon_of_parts(const BucketSegment& s) {
  stage_.buckets[index_].matrices = matrix_parts(stage_, model_, index_);
  const BucketState& b = bucket();
  const int split = index_ % 2 == 0 ? plan_.attention.tp : plan_.expert.etp;
  const Group peers = index_ % 2 == 0 ? Group::tp : Group::etp;
  push(OpKind::muon_momentum, ".momentum", {b.gradients, s.exp_avg, scale_}, {s.exp_avg, b.gradients})
      .attr.n = {s.elements};
  BucketSync(plan_, b, index_, name_).gather(stage_.epilogue, b.gradients, ".momentum_gather");
  std::vector<const MatrixPart*> most;
  for (const MatrixPart* m : busiest_shard(most)) {
    const MatrixShape whole = whole_shape(*m);
    most_elements_ = std::max({most_elements_, whole.rows * whole.columns,
                               split > 1 ? split * m->elements() : 0});
  }
  if (most.empty()) return cast(s);
  const TensorId workspace = add_state(stage_, name_ + ".workspace", TensorClass::step_scratch,
                                       DType::fp32, {{3}, {most_elements_}});
  stage_.buckets[index_].workspace = workspace;
  const int first = last_op() + 1;
  for (std::size_t i = 0; i < most.size(); ++i) {
    const std::string number = "." + std::to_string(i);
    const auto at = static_cast<std::int64_t>(i);
    const MatrixShape whole = whole_shape(*most[i]);
    if (split > 1) {
      Op& gather = push(OpKind::gather_matrix, ".gather_matrix" + number, {b.gradients}, {workspace});
      gather.group = peers;
      gather.attr.first = at;
      gather.attr.n = {split * most[i]->elements()};
    }
    Op& op = push(OpKind::newton_schulz, ".newton_schulz" + number,
                  {split > 1 ? workspace : b.gradients}, {workspace});
    op.attr.first = at;
    op.attr.m = {whole.rows};
    op.attr.n = {whole.columns};
    op.attr.experts = 1;
    op.attr.math = DType::bf16;
    Op& step = push(OpKind::step_matrix, ".apply" + number, {workspace, s.main_params},
                    {s.main_params});
    step.attr.first = at;
    step.attr.n = {std::min(most[i]->elements(), s.elements)};
  }
  stage_.step_lives.push_back({workspace, first, last_op()});
  cast(s);
}

std::vector<const MatrixPart*> OptimizerStep::busiest_shard(std::vector<const MatrixPart*>& most) {
  const BucketState& b = bucket();
  double most_work = -1;
  std::vector<std::vector<const MatrixPart*>> shards;
  std::size_t busiest = 0, longest = 0;
  for (int i = 0; i < b.shards; ++i) {
    shards.push_back(
        matrices_in(b.matrices, i * b.shard_elements, (i + 1) * b.shard_elements));
    double work = 0;
    for (const MatrixPart* m : shards.back()) work += iteration_work(whole_shape(*m));
    if (work > most_work) {
      most_work = work;
      busiest = shards.size() - 1;
    }
    if (shards.back().size() > shards[longest].size()) longest = shards.size() - 1;
  }
  most = shards[busiest];
  for (std::size_t i = most.size(); i < shards[longest].size(); ++i) {
    most.push_back(shards[longest][i]);
  }
  return matrices_in(b.matrices, 0, b.elements);
}

void OptimizerStep::muon(const BucketSegment& s) {
  push(OpKind::muon_momentum, s.suffix + ".momentum", {bucket().gradients, s.exp_avg, scale_},
       {s.exp_avg})
      .attr.n = {s.elements};
  const int split = index_ % 2 == 0 ? plan_.attention.tp : plan_.expert.etp;
  if (split > 1) {
    Op& gather = push(OpKind::all_gather, ".gather_matrices", {s.exp_avg}, {s.exp_avg});
    gather.group = index_ % 2 == 0 ? Group::tp : Group::etp;
    gather.attr.n = {s.elements * split};
  }
  const std::vector<MatrixShape> owned = owned_matrices(stage_, model_, plan_, index_);
  std::int64_t largest = 0;
  for (const MatrixShape& m : owned) largest = std::max(largest, m.rows * m.columns);
  const TensorId workspace = add_state(stage_, name_ + ".workspace", TensorClass::step_scratch,
                                       DType::fp32, {{3}, {largest}});
  const int first = last_op() + 1;
  for (std::size_t i = 0; i < owned.size(); ++i) {
    Op& op = push(OpKind::newton_schulz, ".newton_schulz." + std::to_string(i), {workspace},
                  {workspace});
    op.attr.m = {owned[i].rows};
    op.attr.n = {owned[i].columns};
    op.attr.experts = owned[i].count;
    op.attr.math = DType::bf16;
  }
  push(OpKind::copy, s.suffix + ".apply", {workspace, s.main_params}, {s.main_params}).attr.n =
      {s.elements};
  stage_.step_lives.push_back({workspace, first, last_op()});
  cast(s);
}

}  // namespace pleat
