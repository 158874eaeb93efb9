// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What of the buckets training has to keep, and which rank saves which part of it.
#include <algorithm>

#include "backend/executor.hpp"

namespace pleat {
namespace {

// Elements [begin, end) of a bucket lie at `data`.
struct Stretch {
  const char* kind;
  std::size_t bucket;
  View view;  // its first element is `origin` of the bucket
  std::int64_t origin, begin, end;
};

void add(const Stretch& s, std::int64_t begin, std::int64_t end, std::vector<KeptRange>& ranges) {
  if (begin >= end) return;
  auto* data = static_cast<std::byte*>(s.view.data) + bytes_of(s.view.dtype, begin - s.origin);
  ranges.push_back({s.kind, s.bucket, begin, {data, s.view.dtype, 1, end - begin}});
}

}  // namespace

std::vector<KeptRange> Executor::kept_ranges(bool to_save) {
  const int tp = context_.attention().tp;
  // Without what another rank saves.
  const auto add_own = [&](const Stretch& s, Bucket which, std::vector<KeptRange>& to) {
    std::int64_t at = s.begin;
    for (const Elsewhere& c : counted_elsewhere(which)) {
      add(s, at, std::min(c.first, s.end), to);
      at = std::max(at, c.first + c.elements);
    }
    add(s, at, s.end, to);
  };
  std::vector<KeptRange> ranges;
  for (std::size_t i = 0; i < stage_.buckets.size(); ++i) {
    const BucketState& b = stage_.buckets[i];
    if (b.elements + b.buffer_elements == 0) continue;
    const BucketPlace place = bucket_place(static_cast<Bucket>(i));
    const std::int64_t padded = b.shards * b.shard_elements;
    const std::vector<Piece> mine = pieces(static_cast<Bucket>(i));
    const View weights = store_.state(b.weights, true, "kept_ranges");
    // Of a tensor of the whole bucket, or of one of this rank's shard alone.
    const auto shard = [&](const char* kind, const View& v, bool shard_only) {
      for (const Piece& p : mine) {
        const std::int64_t origin = shard_only ? p.whole - p.shard : 0, end = p.whole + p.elements;
        const Stretch stretch{kind, i, v, origin, p.whole, end};
        if (!to_save) {
          add(stretch, p.whole, end, ranges);
        } else if (place.first_of_replicas) {
          add_own(stretch, static_cast<Bucket>(i), ranges);
        }
      }
    };
    if (to_save || weights_in_shards()) {
      shard("weight", weights, weights_in_shards());
    } else {
      add({"weight", i, weights, 0, 0, 0}, 0, padded, ranges);
    }
    const bool first = place.first_of_replicas && place.index == 0 && tp == 0;
    if (b.buffer_elements > 0 && (first || !to_save)) {  // loads are counted anew in every step
      const View buffers = store_.state(b.buffers, true, "kept_ranges");
      add({"weight", i, buffers, padded, 0, 0}, padded, padded + b.bias_elements, ranges);
    }
    if (b.elements == 0) continue;
    const auto state = [&](const char* kind, TensorId id) {
      shard(kind, store_.state(id, true, "kept_ranges"), true);
    };
    if (b.has_main_params) state("main", b.main_params);
    state("exp_avg", b.exp_avg);
    if (b.has_second_moment) state("exp_avg_sq", b.exp_avg_sq);
  }
  return ranges;
}

}  // namespace pleat
