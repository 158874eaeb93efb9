// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Full tensors by their global names, put together from what the ranks hold.
#pragma once

#include <map>
#include <vector>

#include "backend/executor.hpp"
#include "backend/init.hpp"

namespace pleat {

// What one rank holds at the end: its weights, whole or in shards, and its shards of the gradients.
struct RankTensors {
  std::map<Bucket, std::vector<BucketRange>> weights, gradients;
  std::map<Bucket, std::vector<float>> buffers;
};
[[nodiscard]] RankTensors rank_tensors(Executor&);

// Adds one rank's weights and its shards of the gradients to the result. After every rank was added
// each tensor is complete; replicas add the same values.
void collect_tensors(const StageProgram&, const WeightRank&, const RankTensors&, TrainResult&);

}  // namespace pleat
