// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a bucket is divided among ranks: which of its elements this rank steps, and where they lie.
//
// A padded bucket is divided as a whole, or unit by unit where weights are sharded layer by layer.
// Of each unit a rank steps one piece; its shard is its pieces one after another. A tensor of a
// bucket holds the whole bucket or this rank's shard alone.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/rank_context.hpp"
#include "core/program/program.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::execute {

// [whole, +elements) of the padded bucket are [shard, +elements) of this rank's shard.
struct Piece {
  std::int64_t whole = 0, shard = 0, elements = 0;
};

struct BucketPlace {
  std::int64_t parts = 1, part = 0;  // of one set of shards: its ranks, and which this one is
  std::int64_t index = 0;            // of this rank's shard among all
  bool first_of_replicas = true;     // no other rank's copy of the shard comes before
};

// Elements of a bucket that another rank counts and saves.
struct Elsewhere {
  std::int64_t first = 0, elements = 0;
};

class BucketShards {
 public:
  BucketShards(const Program&, const StageProgram&, const RankContext&);

  // The bucket whose weights or gradients, here or on the host, the tensor is.
  [[nodiscard]] Bucket bucket_of(const Op&, TensorId) const;
  [[nodiscard]] BucketPlace place(Bucket) const;
  [[nodiscard]] std::vector<BucketUnit> units(Bucket) const;  // one where it is divided as a whole
  [[nodiscard]] std::vector<Piece> pieces(Bucket) const;
  [[nodiscard]] std::vector<Elsewhere> counted_elsewhere(Bucket) const;  // in order
  // This rank's place among those that have the same elements (Copies).
  [[nodiscard]] int place_in_copies(Bucket) const;
  [[nodiscard]] bool gradients_in_shards() const;  // ZeRO-2 and 3: tensors hold the shard alone
  [[nodiscard]] bool weights_in_shards() const;    // ZeRO-3

 private:
  [[nodiscard]] const BucketState& state(Bucket which) const {
    return stage_.buckets[static_cast<std::size_t>(which)];
  }

  const Plan& plan_;
  const StageProgram& stage_;
  const RankContext& ranks_;
};

// A piece in a tensor of the whole bucket, or in one of the shard alone.
[[nodiscard]] View piece_of(const Piece&, View tensor, bool shard_only);
// Elements of the experts' buckets. With Muon there are two of each kind: the matrices are apart.
[[nodiscard]] inline bool of_experts(Bucket which) { return static_cast<int>(which) % 2 == 1; }

}  // namespace pleat::execute
