// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer step over the buckets. With ZeRO-1 rank r of a bucket's group owns
// elements [r * shard_elements, +shard_elements) of the padded bucket.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/executor.hpp"

namespace pleat {
namespace {

View slice(View v, std::int64_t offset, std::int64_t elements) {
  return {v.f32() + offset, v.dtype, 1, elements};
}

}  // namespace

Bucket Executor::bucket_of(const Op& op, TensorId id) const {
  for (std::size_t i = 0; i < stage_.buckets.size(); ++i) {
    const BucketState& b = stage_.buckets[i];
    const bool mine = id == b.weights || id == b.gradients;
    if (b.elements > 0 && mine) return static_cast<Bucket>(i);
  }
  throw ExecutionError(fmt::format("operation '{}': '{}' is no bucket's weights or gradients",
                                   op.name, stage_.state[id.index()].name));
}

int Executor::bucket_member(Bucket bucket) const {
  return context_.comm(bucket == Bucket::dense ? Group::dp_cp : Group::edp).rank();
}

// The gradients this rank is to count or apply: its shard, or the whole bucket where it is not
// sharded.
View Executor::my_shard(Bucket which, View whole) const {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const std::int64_t first = b.shards > 1 ? bucket_member(which) * b.shard_elements : 0;
  return slice(whole, first, b.shard_elements);
}

void Executor::bucket_collective(const Call& c) {
  Communicator& comm = context_.comm(c.op.group);
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const View whole = c.out[0], shard = my_shard(which, whole);
  if (b.shards != comm.size()) {
    throw ExecutionError(
        fmt::format("operation '{}': {} shards over {} ranks", c.op.name, b.shards, comm.size()));
  }
  const auto padded = static_cast<std::size_t>(b.shards * b.shard_elements);
  const std::span<float> mine(shard.f32(), static_cast<std::size_t>(b.shard_elements));
  const std::span<float> all(whole.f32(), padded);
  if (c.op.kind == OpKind::all_gather) {
    comm.all_gather(std::as_bytes(mine), std::as_writable_bytes(all));
  } else {
    comm.reduce_scatter(all, mine);
  }
}

// This rank's part of the squared norm. Where replicas hold the same gradients the first one
// counts.
void Executor::grad_norm(const Call& c) {
  double sum = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Bucket which = bucket_of(c.op, c.op.in[i]);
    const bool sharded = stage_.buckets[static_cast<std::size_t>(which)].shards > 1;
    if (!sharded && bucket_member(which) != 0) continue;
    sum += kernels_.sum_of_squares(my_shard(which, c.in[i]));
  }
  c.out[0].f32()[0] = static_cast<float>(sum);
}

void Executor::clip(const Call& c) {
  grad_norm_ = std::sqrt(static_cast<double>(c.in[0].f32()[0]));
  const double scale = config_.clip_norm > 0 ? config_.clip_norm / (grad_norm_ + 1e-6) : 1.0;
  c.out[0].f32()[0] = static_cast<float>(std::min(1.0, scale));
}

void Executor::adamw(const Call& c) {
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const View gradients = my_shard(which, c.in[0]);
  const View master = b.has_main_params ? c.in[3] : my_shard(which, c.in[3]);
  AdamW settings = config_.adamw;
  settings.step = step_ + 1;
  kernels_.adamw(gradients, c.in[1], c.in[2], master, static_cast<double>(c.in[4].f32()[0]),
                 settings);
  if (!config_.keep_gradients) return;
  GradientShard& kept = shards_[which];
  kept.offset = gradients.f32() - c.in[0].f32();
  kept.values.assign(gradients.f32(), gradients.f32() + gradients.elements());
}

}  // namespace pleat
