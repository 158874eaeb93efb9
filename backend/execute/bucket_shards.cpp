// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/bucket_shards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {

BucketShards::BucketShards(const Program& program, const StageProgram& stage,
                           const RankContext& ranks)
    : plan_(program.plan), stage_(stage), ranks_(ranks) {}

Bucket BucketShards::bucket_of(const Op& op, TensorId id) const {
  for (std::size_t i = 0; i < stage_.buckets.size(); ++i) {
    const BucketState& b = stage_.buckets[i];
    const bool mine = id == b.weights || id == b.gradients ||
                      std::ranges::any_of(b.segments, [id](const StateSegment& s) {
                        return s.on_host && s.host_gradients == id;
                      });
    if (b.elements > 0 && mine) return static_cast<Bucket>(i);
  }
  throw ExecutionError(fmt::format("operation '{}': '{}' is no bucket's weights or gradients",
                                   op.name, stage_.state[id.index()].name));
}

// The ranks of the plan's shard group take a part each; where another stage holds the same layers
// (DualPipe) the two halve that part.
BucketPlace BucketShards::place(Bucket which) const {
  const ShardGroups groups = shard_groups(plan_, of_experts(which));
  const Communicator &inner = ranks_.comm(groups.shard), &copies = ranks_.comm(Group::copies);
  BucketPlace place;
  place.first_of_replicas = ranks_.comm(groups.replicas).rank() == 0;
  if (plan_.sharding == Sharding::none) {
    place.first_of_replicas = place.first_of_replicas && inner.rank() == 0 && copies.rank() == 0;
    return place;
  }
  place.parts = inner.size();
  place.part = inner.rank();
  place.index = std::int64_t{inner.rank()} * copies.size() + copies.rank();
  return place;
}

bool BucketShards::gradients_in_shards() const {
  return plan_.sharding == Sharding::zero2 || weights_in_shards();
}

bool BucketShards::weights_in_shards() const { return plan_.sharding == Sharding::zero3; }

std::vector<BucketUnit> BucketShards::units(Bucket which) const {
  const BucketState& b = state(which);
  if (!b.units.empty()) return b.units;
  return {{.begin = 0, .elements = b.shards * b.shard_elements}};
}

std::vector<Piece> BucketShards::pieces(Bucket which) const {
  const BucketState& b = state(which);
  const BucketPlace mine = place(which);
  std::vector<Piece> all;
  for (const BucketUnit& unit : units(which)) {
    const std::int64_t each = unit.elements / b.shards;
    all.push_back({unit.begin + mine.index * each, unit.begin / b.shards, each});
  }
  return all;
}

int BucketShards::place_in_copies(Bucket which) const {
  return of_experts(which) ? ranks_.expert().etp : ranks_.attention().tp;
}

// An earlier rank of tp (etp) has them too, or they are a table that the stage which embeds the
// input has as well.
std::vector<Elsewhere> BucketShards::counted_elsewhere(Bucket which) const {
  std::vector<Elsewhere> found;
  for (const Copies& c : state(which).copies) {
    if (place_in_copies(which) % c.ranks != 0) found.push_back({c.first, c.elements});
  }
  const auto& table = stage_.table;
  if (table && !table->counted && which == table->slot.bucket) {
    found.push_back({table->slot.offset, table->elements});
  }
  std::ranges::sort(found, {}, &Elsewhere::first);
  return found;
}

View piece_of(const Piece& piece, View tensor, bool shard_only) {
  return elements_of(tensor, shard_only ? piece.shard : piece.whole, piece.elements);
}

}  // namespace pleat::execute
