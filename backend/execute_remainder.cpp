// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Main parameters of which the weights are one half.
#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kInCache = 1 << 14, kAtATime = 1 << 22;

}  // namespace

// AdamW's step is of each element by itself.
void Executor::adamw_of_halves(const Call& c, const OptimizerRun& run, View gradients,
                               const AdamW& settings) {
  const std::int64_t most = device_.is_host() ? kInCache : kAtATime;
  for (std::int64_t first = 0; first < run.elements; first += most) {
    const std::int64_t n = std::min(most, run.elements - first);
    const OptimizerRun part{run.whole + first, run.shard + first, run.state + first, n, run.decays};
    with_joined(c, part, [&](View main) {
      kernels_.adamw(elements_of(gradients, first, n), elements_of(c.in[1], part.state, n),
                     elements_of(c.in[2], part.state, n), main, clip_factor_, settings);
    });
  }
}

// A step on the main parameters of a run, in fp32.
void Executor::with_joined(const Call& c, const OptimizerRun& run,
                           const std::function<void(View)>& step) {
  const std::int64_t at = weights_in_shards() ? run.shard : run.whole;
  const View weights = elements_of(c.in[5], at, run.elements);
  const View rests = elements_of(c.in[3], run.state, run.elements);
  const Aside main = aside(DType::fp32, 1, run.elements);
  kernels_.join_halves(weights, rests, main.view());
  step(main.view());
  kernels_.split_halves(main.view(), weights, rests);
}

// The main parameters of a segment in fp32 and in host memory, while they are saved or restored.
View Executor::widen_main(std::size_t bucket, const StateSegment& segment) {
  WideMain& wide = wide_mains_.emplace_back(
      WideMain{bucket, segment, std::vector<float>(static_cast<std::size_t>(segment.elements))});
  for_each_half(wide, [this](View weights, View rests, View main) {
    const Aside joined = aside(DType::fp32, 1, main.elements());
    kernels_.join_halves(weights, rests, joined.view());
    device_.copy(main.data, joined.view().data, byte_count(main));
  });
  return {wide.values.data(), DType::fp32, 1, segment.elements};
}

// Other ranks get the weights from this one: theirs may have been rounded to even.
void Executor::split_again() {
  for (WideMain& wide : wide_mains_) {
    for_each_half(wide, [this](View weights, View rests, View main) {
      const Aside joined = aside(DType::fp32, 1, main.elements());
      device_.copy(joined.view().data, main.data, byte_count(main));
      kernels_.split_halves(joined.view(), weights, rests);
    });
  }
  const bool any = !wide_mains_.empty();
  wide_mains_.clear();
  if (!any) return;
  gather_weights(false);
}

template <class Visit>
void Executor::for_each_half(WideMain& wide, Visit visit) {
  const BucketState& b = stage_.buckets[wide.bucket];
  const StateSegment& s = wide.segment;
  const View weights = store_.state(b.weights, true, "kept_ranges");
  const View rests = store_.state(s.main_params, true, "kept_ranges");
  for (const Piece& p : pieces(static_cast<Bucket>(wide.bucket))) {
    const std::int64_t first = std::max(p.shard, s.first);
    const std::int64_t last = std::min(p.shard + p.elements, s.first + s.elements);
    if (first >= last) continue;
    const std::int64_t n = last - first;
    const std::int64_t at = weights_in_shards() ? first : p.whole + (first - p.shard);
    visit(elements_of(weights, at, n), elements_of(rests, first - s.first, n),
          {wide.values.data() + (first - s.first), DType::fp32, 1, n});
  }
}

}  // namespace pleat
