// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Full tensors by their global names, put together from what the ranks hold.
#pragma once

#include <map>
#include <vector>

#include "backend/executor.hpp"
#include "backend/init.hpp"

namespace pleat {

// What one rank holds at the end: its whole buckets and its shards of the gradients.
struct RankTensors {
  std::map<Bucket, std::vector<float>> weights, buffers;
  std::map<Bucket, GradientShard> gradients;
};
[[nodiscard]] RankTensors rank_tensors(Executor&);

// Adds one rank's weights and its shards of the gradients to the result. After every rank was added
// each tensor is complete; replicas add the same values.
void collect_tensors(const StageProgram&, const WeightRank&, const RankTensors&, TrainResult&);

}  // namespace pleat
