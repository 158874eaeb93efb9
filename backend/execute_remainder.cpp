// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Main parameters of which the weights are one half.
#include <algorithm>

#include "backend/executor.hpp"
#include "backend/optimizer/remainder.hpp"
#include "backend/runtime/views.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kAtATime = 1 << 14;

void join_main_params(View weights, View rests, std::span<float> to) {
  const auto* w = static_cast<const Bf16*>(weights.data);
  const auto* r = static_cast<const std::uint16_t*>(rests.data);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = joined({w[i], r[i]});
}

void split_main_params(std::span<const float> from, View weights, View rests) {
  auto* w = static_cast<Bf16*>(weights.data);
  auto* r = static_cast<std::uint16_t*>(rests.data);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const SplitFloat s = split(from[i]);
    w[i] = s.weight;
    r[i] = s.rest;
  }
}

}  // namespace

// AdamW's step is of each element by itself.
void Executor::adamw_of_halves(const Call& c, const OptimizerRun& run, View gradients,
                               const AdamW& settings) {
  const auto scale = static_cast<double>(c.in[4].f32()[0]);
  for (std::int64_t first = 0; first < run.elements; first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, run.elements - first);
    const OptimizerRun part{run.whole + first, run.shard + first, run.state + first, n, run.decays};
    with_joined(c, part, [&](View main) {
      kernels_.adamw(elements_of(gradients, first, n), elements_of(c.in[1], part.state, n),
                     elements_of(c.in[2], part.state, n), main, scale, settings);
    });
  }
}

// A step on the main parameters of a run, in fp32.
void Executor::with_joined(const Call& c, const OptimizerRun& run,
                           const std::function<void(View)>& step) {
  const std::int64_t at = weights_in_shards() ? run.shard : run.whole;
  const View weights = elements_of(c.in[5], at, run.elements);
  const View rests = elements_of(c.in[3], run.state, run.elements);
  std::vector<float> main(static_cast<std::size_t>(run.elements));
  join_main_params(weights, rests, main);
  step({main.data(), DType::fp32, 1, run.elements});
  split_main_params(main, weights, rests);
}

// The main parameters of a segment in fp32, while they are saved or restored.
View Executor::widen_main(std::size_t bucket, const StateSegment& segment) {
  WideMain& wide = wide_mains_.emplace_back(
      WideMain{bucket, segment, std::vector<float>(static_cast<std::size_t>(segment.elements))});
  for_each_half(wide, [](View weights, View rests, std::span<float> main) {
    join_main_params(weights, rests, main);
  });
  return {wide.values.data(), DType::fp32, 1, segment.elements};
}

// Other ranks get the weights from this one: theirs may have been rounded to even.
void Executor::split_again() {
  for (WideMain& wide : wide_mains_) {
    for_each_half(wide, [](View weights, View rests, std::span<float> main) {
      split_main_params(main, weights, rests);
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
          std::span(wide.values)
              .subspan(static_cast<std::size_t>(first - s.first), static_cast<std::size_t>(n)));
  }
}

}  // namespace pleat
