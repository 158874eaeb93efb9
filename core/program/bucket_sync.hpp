// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The levels that a bucket's gradients are summed over and its weights gathered over. ZeRO-1 is the
// step pass here: it turns the gradient all-reduce into a reduce-scatter, and appends the gather of
// the weights. Several instances of the shards sum theirs across; DualPipe's two copies of a stage
// share one more level of shards.
#pragma once

#include <string>
#include <vector>

#include "core/plan/rank_map.hpp"
#include "core/program/program.hpp"

namespace pleat {

class BucketSync {
 public:
  // The arguments must outlive it.
  BucketSync(const Plan&, const BucketState&, std::size_t bucket, const std::string& name);

  void reduce(std::vector<Op>&) const;
  void gather_weights(std::vector<Op>&) const;
  // The shards of a tensor of the whole bucket, in place; `what` names the operations.
  void gather(std::vector<Op>&, TensorId, const std::string& what) const;

 private:
  // `of_share`: of the part that one set of shards leaves on a rank.
  [[nodiscard]] Op level(OpKind, const std::string& what, TensorId, Group, bool of_share) const;

  const Plan& plan_;
  const BucketState& b_;
  std::string name_;
  ShardGroups groups_;
  bool sharded_ = false, whole_ = false;
  std::int64_t share_ = 0;
};

}  // namespace pleat
