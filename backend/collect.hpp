// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Full tensors by their global names, put together from what the ranks hold.
#pragma once

#include <map>
#include <vector>

#include "backend/execute/executor.hpp"
#include "backend/init.hpp"

namespace pleat {

// What one rank holds at the end: its weights, whole or in shards, and its shards of the gradients.
struct RankTensors {
  std::map<Bucket, std::vector<BucketRange>> weights, gradients;
  std::map<Bucket, std::vector<float>> buffers;
};
[[nodiscard]] RankTensors rank_tensors(Executor&);

// Fills weights, gradients and unequal_copies of a result. After every rank was added each tensor
// is complete.
class TensorCollector {
 public:
  explicit TensorCollector(TrainResult& result) : result_(result) {}
  // One rank's weights and its shards of the gradients.
  void add(const StageProgram&, const WeightRank&, const RankTensors&);

 private:
  struct Place {
    const std::vector<BucketRange>& from;
    std::int64_t begin;  // of the part, in the bucket
  };
  void add_part(const char* kind, const Place&, const NamedPart&,
                std::map<std::string, std::vector<float>>& to);

  TrainResult& result_;
  std::map<std::string, std::vector<bool>> known_;  // elements that some rank had, by kind/name
};

}  // namespace pleat
