// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What of the buckets training has to keep, and which rank saves which part of it.
#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/step_state.hpp"

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

// A moment with scales, in fp32 until the next step: its blocks are of this layout alone. Written back
// it has the same values.
View Executor::widen(std::size_t bucket, const StateSegment& segment, TensorId moment,
                     TensorId scales) {
  WideMoment& wide = wide_.emplace_back(
      WideMoment{bucket, segment.first, moment, scales,
                 std::vector<float>(static_cast<std::size_t>(segment.elements))});
  move_moments(wide, false);
  return {wide.values.data(), DType::fp32, 1, segment.elements};
}

void Executor::narrow_again() {
  for (WideMoment& wide : wide_) move_moments(wide, true);
  wide_.clear();
}

// Through room on the device where the moment is hidden there.
void Executor::move_moments(WideMoment& wide, bool back) {
  for (const auto& [narrow, values] : parts_of(wide)) {
    if (!device_.hidden(narrow.values.data)) {
      back ? host_kernels_.write_moment(values, narrow) : host_kernels_.read_moment(narrow, values);
      continue;
    }
    Arena arena(device_.memory(), false);
    const Block room = arena.allocate(byte_count(values));
    const View there{room.data(), DType::fp32, 1, values.elements()};
    if (back) {
      device_.copy(there.data, values.data, byte_count(values));
      kernels_.write_moment(there, narrow);
      device_.synchronize();  // before the room goes
    } else {
      kernels_.read_moment(narrow, there);
      device_.copy(values.data, there.data, byte_count(values));
    }
  }
}

std::vector<std::pair<Moment, View>> Executor::parts_of(WideMoment& wide) {
  const View all = store_.state(wide.moment, true, "kept_ranges");
  float* const scales = store_.state(wide.scales, true, "kept_ranges").f32();
  std::vector<std::pair<Moment, View>> parts;
  for (const ShardPart& p : shard_parts(stage_.buckets[wide.bucket],
                                        bucket_place(static_cast<Bucket>(wide.bucket)).index, wide.first,
                                        static_cast<std::int64_t>(wide.values.size()))) {
    const std::int64_t at = p.first - wide.first;
    auto* data = static_cast<std::byte*>(all.data) + bytes_of(all.dtype, at);
    parts.push_back({{{data, all.dtype, 1, p.elements}, scales + p.scales},
                     {wide.values.data() + at, DType::fp32, 1, p.elements}});
  }
  return parts;
}

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
  wide_.clear();
  wide_mains_.clear();
  std::vector<KeptRange> ranges;
  const auto keep = [&](const Stretch& s, Bucket which, const BucketPlace& place) {
    if (!to_save) {
      add(s, s.begin, s.end, ranges);
    } else if (place.first_of_replicas) {
      add_own(s, which, ranges);
    }
  };
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
        keep({kind, i, v, origin, p.whole, end}, static_cast<Bucket>(i), place);
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
    // A part of the state, which may lie in host memory.
    const auto state = [&](const char* kind, const StateSegment& segment, TensorId id,
                           TensorId scales) {
      View v = store_.state(id, true, "kept_ranges");
      if (v.dtype == DType::remainder16) {
        v = widen_main(i, segment);
      } else if (scaled_moment(v.dtype)) {
        v = widen(i, segment, id, scales);
      }
      for (const Piece& p : mine) {
        const std::int64_t to_whole = p.whole - p.shard;
        const std::int64_t first = std::max(p.shard, segment.first);
        const std::int64_t last = std::min(p.shard + p.elements, segment.first + segment.elements);
        if (first >= last) continue;
        const Stretch part{kind, i, v, segment.first + to_whole, first + to_whole, last + to_whole};
        keep(part, static_cast<Bucket>(i), place);
      }
    };
    for (const StateSegment& segment : b.segments) {
      if (b.has_main_params) state("main", segment, segment.main_params, {});
      state("exp_avg", segment, segment.exp_avg, segment.exp_avg_scale);
      if (b.has_second_moment) {
        state("exp_avg_sq", segment, segment.exp_avg_sq, segment.exp_avg_sq_scale);
      }
    }
  }
  return ranges;
}

}  // namespace pleat
