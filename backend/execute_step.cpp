// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The step over the buckets: which part of the padded bucket a rank owns, the levels that gradients
// are summed over and weights gathered over, and their norm.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {
namespace {

// With Muon two more: the matrices of each.
bool of_experts(Bucket which) { return static_cast<int>(which) % 2 == 1; }

}  // namespace

View Executor::named_part(const Op& op, View whole) {
  if (op.attr.n == Dim{}) return whole;
  if (op.attr.first + op.attr.n.n > whole.elements()) {
    throw ExecutionError(fmt::format("operation '{}': elements [{}, {}) of {}", op.name,
                                     op.attr.first, op.attr.first + op.attr.n.n, whole.elements()));
  }
  return elements_of(whole, op.attr.first, op.attr.n.n);
}

Bucket Executor::bucket_of(const Op& op, TensorId id) const {
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

// How a bucket, or each unit of it, is divided. The ranks of the plan's shard group take a part
// each; where another stage holds the same layers (DualPipe) the two halve that part.
Executor::BucketPlace Executor::bucket_place(Bucket which) const {
  const ShardGroups groups = shard_groups(program_.plan, of_experts(which));
  const Communicator &inner = context_.comm(groups.shard), &copies = context_.comm(Group::copies);
  BucketPlace place;
  place.first_of_replicas = context_.comm(groups.replicas).rank() == 0;
  if (program_.plan.sharding == Sharding::none) {
    place.first_of_replicas = place.first_of_replicas && inner.rank() == 0 && copies.rank() == 0;
    return place;
  }
  place.parts = inner.size();
  place.part = inner.rank();
  place.index = std::int64_t{inner.rank()} * copies.size() + copies.rank();
  return place;
}

bool Executor::gradients_in_shards() const {
  return program_.plan.sharding == Sharding::zero2 || weights_in_shards();
}
bool Executor::weights_in_shards() const { return program_.plan.sharding == Sharding::zero3; }

std::vector<BucketUnit> Executor::units(Bucket which) const {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  if (!b.units.empty()) return b.units;
  return {{.begin = 0, .elements = b.shards * b.shard_elements}};
}

std::vector<Executor::Piece> Executor::pieces(Bucket which) const {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const BucketPlace place = bucket_place(which);
  std::vector<Piece> all;
  for (const BucketUnit& unit : units(which)) {
    const std::int64_t each = unit.elements / b.shards;
    all.push_back({unit.begin + place.index * each, unit.begin / b.shards, each});
  }
  return all;
}

View Executor::piece_of(const Piece& piece, View tensor, bool shard_only) {
  return elements_of(tensor, shard_only ? piece.shard : piece.whole, piece.elements);
}

// One level of summing a bucket's gradients or gathering its weights, in place: over the shard
// group the whole bucket, over the others the part that this rank has of it.
void Executor::bucket_collective(const Call& c) {
  Communicator& comm = context_.comm(c.op.group);
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const View tensor = c.out[0];
  if (gradients_in_shards() && c.op.in[0] == b.gradients) {  // the replicas of a shard
    return sum_gradients(c.op, comm, tensor);
  }
  const BucketPlace place = bucket_place(which);
  const bool outer = c.op.group == shard_groups(program_.plan, of_experts(which)).shard;
  for (const BucketUnit& unit : units(which)) {
    const std::int64_t part = unit.elements / place.parts;
    const View range = outer ? elements_of(tensor, unit.begin, unit.elements)
                             : elements_of(tensor, unit.begin + place.part * part, part);
    if (family_of(c.op.kind) == OpKind::all_reduce) {
      sum_gradients(c.op, comm, range);
      continue;
    }
    if (range.elements() % comm.size() != 0) {
      throw ExecutionError(fmt::format("operation '{}': {} elements over {} ranks", c.op.name,
                                       range.elements(), comm.size()));
    }
    const std::int64_t each = range.elements() / comm.size();
    const View mine = elements_of(range, each * comm.rank(), each);
    if (family_of(c.op.kind) == OpKind::all_gather) {
      comm.all_gather(bytes(mine), bytes(range));
    } else {
      sum_gradients(c.op, comm, range, mine);
    }
  }
}

// This rank's part of the squared norm. Where replicas hold the same gradients the first one
// counts.
void Executor::grad_norm(const Call& c) {
  double sum = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Bucket which = bucket_of(c.op, c.op.in[i]);
    if (config_.change_gradients) {
      for (const Piece& piece : pieces(which)) {
        const View mine = piece_of(piece, c.in[i], gradients_in_shards());
        change_values(device_, mine, [&](std::span<float> values) {
          config_.change_gradients(context_.rank(), step_, which, values);
        });
      }
    }
    if (bucket_place(which).first_of_replicas) sum += sum_of_squares(which, c.in[i]);
  }
  norm_part_ = static_cast<float>(sum);
  device_.copy(c.out[0].data, &norm_part_, sizeof norm_part_);
}

// An earlier rank of tp (etp) has it too, or the stage that embeds the input has the table of this one.
std::vector<Executor::Elsewhere> Executor::counted_elsewhere(Bucket which) const {
  std::vector<Elsewhere> found;
  for (const Copies& c : stage_.buckets[static_cast<std::size_t>(which)].copies) {
    if (place_in_copies(which) % c.ranks != 0) found.push_back({c.first, c.elements});
  }
  const auto& table = stage_.table;
  if (table && !table->counted && which == table->slot.bucket) {
    found.push_back({table->slot.offset, table->elements});
  }
  std::ranges::sort(found, {}, &Elsewhere::first);
  return found;
}

// Of what this rank holds of a bucket, without what another rank counts.
double Executor::sum_of_squares(Bucket which, View gradients) {
  const std::vector<Elsewhere> elsewhere = counted_elsewhere(which);
  double sum = 0;
  for (const Piece& piece : pieces(which)) {
    const View mine = piece_of(piece, gradients, gradients_in_shards());
    const std::int64_t end = piece.whole + piece.elements;
    std::int64_t at = piece.whole;
    const auto count_to = [&](std::int64_t to) {
      to = std::clamp(to, at, end);
      if (to > at) sum += kernels_.sum_of_squares(elements_of(mine, at - piece.whole, to - at));
      at = to;
    };
    for (const Elsewhere& c : elsewhere) {
      count_to(c.first);
      at = std::clamp(c.first + c.elements, at, end);
    }
    count_to(end);
  }
  return sum;
}

// The biases and behind them the loads of the same experts.
void Executor::update_bias(const Call& c) {
  if (skipped_) return;
  const OpAttributes& a = c.op.attr;
  const View biases = elements_of(c.out[0], a.first, a.n.n);
  kernels_.update_bias(elements_of(c.out[0], a.first + a.n.n, a.n.n), biases, a.experts, a.scale);
}

}  // namespace pleat
