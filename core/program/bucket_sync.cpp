// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/bucket_sync.hpp"

#include <algorithm>

#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// Bytes that travel over those kept.
double wire_of(const OptimizerPlan& types) {
  if (!types.grad_reduce) return 1;
  return static_cast<double>(bytes_of(*types.grad_reduce, 1)) /
         static_cast<double>(bytes_of(types.main_grads, 1));
}

}  // namespace

BucketSync::BucketSync(const Plan& plan, const BucketState& b, std::size_t bucket,
                       const std::string& name)
    : plan_(plan), b_(b), name_(name), groups_(shard_groups(plan, bucket % 2 == 1)) {
  const int inner = group_size(plan, groups_.shard);
  sharded_ = plan.sharding != Sharding::none;
  whole_ = inner <= 1;
  share_ = sharded_ ? b.shards * b.shard_elements / inner : b.elements;
}

void BucketSync::reduce(std::vector<Op>& ops) const {
  const bool per_layer =  // the sharding pass reduced them layer by layer
      plan_.sharding == Sharding::zero2 || plan_.sharding == Sharding::zero3;
  if (!whole_ && !per_layer) {
    ops.push_back(level(sharded_ ? OpKind::reduce_bucket : OpKind::all_reduce_bucket, ".grad_sync",
                        b_.gradients, groups_.shard, false));
  }
  if (group_size(plan_, groups_.replicas) > 1) {
    ops.push_back(level(OpKind::all_reduce_bucket, ".grad_sync.replicas", b_.gradients,
                        groups_.replicas, true));
  }
  if (group_size(plan_, Group::copies) > 1) {
    ops.push_back(level(sharded_ ? OpKind::reduce_bucket : OpKind::all_reduce_bucket,
                        ".grad_sync.copies", b_.gradients, Group::copies, true));
  }
  for (Op& op : ops) {
    if (op.module == Module::grad_sync && op.in.front() == b_.gradients &&
        op.group != Group::tp) {
      op.attr.wire = wire_of(plan_.optimizer);
    }
  }
}

void BucketSync::gather_weights(std::vector<Op>& ops) const {
  if (sharded_ && plan_.sharding != Sharding::zero3) gather(ops, b_.weights, ".param_gather");
}

void BucketSync::gather(std::vector<Op>& ops, TensorId tensor, const std::string& what) const {
  if (!sharded_) return;
  if (group_size(plan_, Group::copies) > 1) {
    ops.push_back(level(OpKind::gather_bucket, what + ".copies", tensor, Group::copies, true));
  }
  if (!whole_) ops.push_back(level(OpKind::gather_bucket, what, tensor, groups_.shard, false));
}

Op BucketSync::level(OpKind kind, const std::string& what, TensorId tensor, Group group,
                     bool of_share) const {
  Op op = step_op(kind, name_ + what, Module::grad_sync, {tensor}, {tensor}, group);
  if (of_share) op.attr.n = {share_};
  return op;
}

}  // namespace pleat
