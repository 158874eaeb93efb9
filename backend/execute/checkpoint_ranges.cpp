// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/checkpoint_ranges.hpp"

#include <algorithm>

#include "backend/execute/execution.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/amax_buffers.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {
namespace {

// Of row number n of the history of amax.
constexpr const char* kAmaxKinds[] = {"amax0",  "amax1",  "amax2",  "amax3", "amax4",  "amax5",
                                      "amax6",  "amax7",  "amax8",  "amax9", "amax10", "amax11",
                                      "amax12", "amax13", "amax14", "amax15"};

// Elements [begin, end) of a bucket lie at `data`.
struct Stored {
  const char* kind;
  std::size_t bucket;
  View view;  // its first element is `origin` of the bucket
  std::int64_t origin, begin, end;
};

void add(const Stored& s, std::int64_t begin, std::int64_t end, std::vector<StateRange>& ranges) {
  if (begin >= end) return;
  auto* data = static_cast<std::byte*>(s.view.data) + bytes_of(s.view.dtype, begin - s.origin);
  ranges.push_back({s.kind, s.bucket, begin, {data, s.view.dtype, 1, end - begin}});
}

// The history of a bucket's amax, step by step.
void add_amax(std::size_t bucket, const BucketState& b, View buffers,
              std::vector<StateRange>& ranges) {
  static_assert(kAmaxSteps == std::size(kAmaxKinds));
  const AmaxPlaces places = amax_places(b);
  const std::int64_t first = b.shards * b.shard_elements + places.seen;  // where slots are
  for (std::int64_t s = 0; s < kAmaxSteps; ++s) {
    const View row = elements_of(buffers, places.history + s * b.amax_elements, b.amax_elements);
    add({kAmaxKinds[s], bucket, row, first, 0, 0}, first, first + b.amax_elements, ranges);
  }
}

}  // namespace

template <class Visit>
void CheckpointRanges::for_each_half(WideMain& wide, Visit visit) {
  const BucketState& b = run_.stage.buckets[wide.bucket];
  const StateSegment& s = wide.segment;
  const View weights = run_.store.state(b.weights, true, "checkpoint");
  const View rests = run_.store.state(s.main_params, true, "checkpoint");
  for (const Piece& p : run_.shards.pieces(static_cast<Bucket>(wide.bucket))) {
    const std::int64_t first = std::max(p.shard, s.first);
    const std::int64_t last = std::min(p.shard + p.elements, s.first + s.elements);
    if (first >= last) continue;
    const std::int64_t n = last - first;
    const std::int64_t at = run_.shards.weights_in_shards() ? first : p.whole + (first - p.shard);
    visit(elements_of(weights, at, n), elements_of(rests, first - s.first, n),
          {wide.values.data() + (first - s.first), DType::fp32, 1, n});
  }
}

// A moment whose blocks have scales, widened to fp32 until the next step, because its blocks are
// those of this layout alone. Written back, it has the same values.
View CheckpointRanges::widen_moment(std::size_t bucket, const StateSegment& segment,
                                    TensorId moment, TensorId scales) {
  WideMoment& wide = wide_moments_.emplace_back(
      WideMoment{bucket, segment.first, moment, scales,
                 std::vector<float>(static_cast<std::size_t>(segment.elements))});
  move_moments(wide, false);
  return {wide.values.data(), DType::fp32, 1, segment.elements};
}

// Goes through memory of the device where the host does not see the moment.
void CheckpointRanges::move_moments(WideMoment& wide, bool back) {
  for (const auto& [narrow, values] : parts_of(wide)) {
    if (!run_.device.hidden(narrow.values.data)) {
      back ? run_.host_kernels.write_moment(values, narrow)
           : run_.host_kernels.read_moment(narrow, values);
      continue;
    }
    Arena arena(run_.device.memory(), false);
    const Block room = arena.allocate(byte_count(values));
    const View there{room.data(), DType::fp32, 1, values.elements()};
    if (back) {
      run_.device.copy(there.data, values.data, byte_count(values));
      run_.kernels.write_moment(there, narrow);
      run_.device.synchronize();  // before the room goes
    } else {
      run_.kernels.read_moment(narrow, there);
      run_.device.copy(values.data, there.data, byte_count(values));
    }
  }
}

std::vector<std::pair<Moment, View>> CheckpointRanges::parts_of(WideMoment& wide) {
  const View all = run_.store.state(wide.moment, true, "checkpoint");
  float* const scales = run_.store.state(wide.scales, true, "checkpoint").f32();
  std::vector<std::pair<Moment, View>> parts;
  for (const ShardPart& p :
       shard_parts(run_.stage.buckets[wide.bucket],
                   run_.shards.place(static_cast<Bucket>(wide.bucket)).index, wide.first,
                   static_cast<std::int64_t>(wide.values.size()))) {
    const std::int64_t at = p.first - wide.first;
    auto* data = static_cast<std::byte*>(all.data) + bytes_of(all.dtype, at);
    parts.push_back({{{data, all.dtype, 1, p.elements}, scales + p.scales},
                     {wide.values.data() + at, DType::fp32, 1, p.elements}});
  }
  return parts;
}

// The main parameters of a segment in fp32 and in host memory, while they are saved or restored.
View CheckpointRanges::widen_main(std::size_t bucket, const StateSegment& segment) {
  WideMain& wide = wide_mains_.emplace_back(
      WideMain{bucket, segment, std::vector<float>(static_cast<std::size_t>(segment.elements))});
  for_each_half(wide, [this](View weights, View rests, View main) {
    const Scratch joined = run_.scratch.take(DType::fp32, 1, main.elements());
    run_.kernels.join_halves(weights, rests, joined.view());
    run_.device.copy(main.data, joined.view().data, byte_count(main));
  });
  return {wide.values.data(), DType::fp32, 1, segment.elements};
}

// The weights are made anew from the main parameters. In the checkpoint they may be of other ranks,
// which may have rounded halves to even (backend/optimizer/remainder.hpp).
bool CheckpointRanges::take_back() {
  for (WideMoment& wide : wide_moments_) move_moments(wide, true);
  for (WideMain& wide : wide_mains_) {
    for_each_half(wide, [this](View weights, View rests, View main) {
      const Scratch joined = run_.scratch.take(DType::fp32, 1, main.elements());
      run_.device.copy(joined.view().data, main.data, byte_count(main));
      run_.kernels.split_halves(joined.view(), weights, rests);
    });
  }
  const bool weights_changed = !wide_mains_.empty();
  forget();
  return weights_changed;
}

void CheckpointRanges::forget() {
  wide_moments_.clear();
  wide_mains_.clear();
}

std::vector<StateRange> CheckpointRanges::ranges(bool to_save) {
  const int tp = run_.ranks.attention().tp;
  // Without what another rank saves.
  const auto add_own = [&](const Stored& s, Bucket which, std::vector<StateRange>& to) {
    std::int64_t at = s.begin;
    for (const Elsewhere& c : run_.shards.counted_elsewhere(which)) {
      add(s, at, std::min(c.first, s.end), to);
      at = std::max(at, c.first + c.elements);
    }
    add(s, at, s.end, to);
  };
  forget();
  std::vector<StateRange> ranges;
  const auto keep = [&](const Stored& s, Bucket which, const BucketPlace& place) {
    if (!to_save) {
      add(s, s.begin, s.end, ranges);
    } else if (place.first_of_replicas) {
      add_own(s, which, ranges);
    }
  };
  for (std::size_t i = 0; i < run_.stage.buckets.size(); ++i) {
    const BucketState& b = run_.stage.buckets[i];
    if (b.elements + b.buffer_elements == 0) continue;
    const BucketPlace place = run_.shards.place(static_cast<Bucket>(i));
    const std::int64_t padded = b.shards * b.shard_elements;
    const std::vector<Piece> mine = run_.shards.pieces(static_cast<Bucket>(i));
    const View weights = run_.store.state(b.weights, true, "checkpoint");
    // Of a tensor of the whole bucket, or of one of this rank's shard alone.
    const auto shard = [&](const char* kind, const View& v, bool shard_only) {
      for (const Piece& p : mine) {
        const std::int64_t origin = shard_only ? p.whole - p.shard : 0, end = p.whole + p.elements;
        keep({kind, i, v, origin, p.whole, end}, static_cast<Bucket>(i), place);
      }
    };
    if (to_save || run_.shards.weights_in_shards()) {
      shard("weight", weights, run_.shards.weights_in_shards());
    } else {
      add({"weight", i, weights, 0, 0, 0}, 0, padded, ranges);
    }
    const bool first = place.first_of_replicas && place.index == 0 && tp == 0;
    if (b.buffer_elements > 0 && (first || !to_save)) {  // loads are counted anew in every step
      const View buffers = run_.store.state(b.buffers, true, "checkpoint");
      add({"weight", i, buffers, padded, 0, 0}, padded, padded + b.bias_elements, ranges);
      add_amax(i, b, buffers, ranges);
    }
    if (b.elements == 0) continue;
    // A part of the state, which may lie in host memory.
    const auto state = [&](const char* kind, const StateSegment& segment, TensorId id,
                           TensorId scales) {
      View v = run_.store.state(id, true, "checkpoint");
      if (v.dtype == DType::remainder16) {
        v = widen_main(i, segment);
      } else if (scaled_moment(v.dtype)) {
        v = widen_moment(i, segment, id, scales);
      }
      for (const Piece& p : mine) {
        const std::int64_t to_whole = p.whole - p.shard;
        const std::int64_t first = std::max(p.shard, segment.first);
        const std::int64_t last = std::min(p.shard + p.elements, segment.first + segment.elements);
        if (first >= last) continue;
        const Stored part{kind, i, v, segment.first + to_whole, first + to_whole, last + to_whole};
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

}  // namespace pleat::execute
