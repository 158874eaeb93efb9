// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// AdamW's step.
#include <algorithm>
#include <functional>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/main_params.hpp"
#include "backend/execute/optimizer_stretches.hpp"
#include "backend/execute/optimizers.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {
namespace {

constexpr std::int64_t kInCache = 1 << 14, kAtATime = 1 << 22;  // elements

// A step on the main parameters of a stretch, in fp32.
void with_joined(const Call& c, Execution& run, const Stretch& stretch,
                 const std::function<void(View)>& step) {
  const std::int64_t at = run.shards.weights_in_shards() ? stretch.shard : stretch.whole;
  const View weights = elements_of(c.in[5], at, stretch.elements);
  const View rests = elements_of(c.in[3], stretch.state, stretch.elements);
  const Scratch main = run.scratch.take(DType::fp32, 1, stretch.elements);
  run.kernels.join_halves(weights, rests, main.view());
  step(main.view());
  run.kernels.split_halves(main.view(), weights, rests);
}

// In parts, as AdamW steps each element by itself: joined main parameters need not all be there at
// once.
void adamw_of_halves(const Call& c, Execution& run, const Stretch& stretch, View gradients,
                     const AdamW& settings) {
  const std::int64_t most = run.device.is_host() ? kInCache : kAtATime;
  for (std::int64_t first = 0; first < stretch.elements; first += most) {
    const std::int64_t n = std::min(most, stretch.elements - first);
    const Stretch part{stretch.whole + first, stretch.shard + first, stretch.state + first, n,
                       stretch.decays};
    with_joined(c, run, part, [&](View main) {
      run.kernels.adamw(elements_of(gradients, first, n), elements_of(c.in[1], part.state, n),
                        elements_of(c.in[2], part.state, n), main, run.step.clip_factor, settings);
    });
  }
}

// Whether the step writes the weights, too, rounded from fp32 main parameters.
bool rounds_weights(const Call& c) {
  return c.in[3].dtype != DType::remainder16 && c.out.size() > 3 && c.out[3].dtype == DType::bf16;
}

// Those of a stretch; no data where it does not.
View rounded_weights(const Call& c, const Execution& run, const Stretch& stretch) {
  if (!rounds_weights(c)) return {};
  const std::int64_t at = run.shards.weights_in_shards() ? stretch.shard : stretch.whole;
  return elements_of(c.out[3], at, stretch.elements);
}

// A block of elements that share a scale may lie in two stretches with different weight decay. So
// whole parts of the shard are stepped at once, and the kernel is told which elements do not decay.
void adamw_narrow(const Call& c, Execution& run, Bucket which, const AdamW& settings,
                  double scale) {
  const BucketState& b = run.bucket(which);
  const bool halves = c.in[3].dtype == DType::remainder16;
  std::size_t next = halves ? 6 : 5;  // after the factor of the gradients, and the weights
  const auto scales = [&](View moment) -> float* {
    return scaled_moment(moment.dtype) ? c.in[next++].f32() : nullptr;
  };
  float* const mean_scales = scales(c.in[1]);
  float* const square_scales = scales(c.in[2]);
  const std::int64_t index = run.shards.place(which).index;
  for (const ShardPart& part : shard_parts(b, index, c.op.attr.first, c.op.attr.n.n)) {
    const std::int64_t whole = part.whole;
    const Stretch stretch{whole, part.first, part.first - c.op.attr.first, part.elements, true};
    std::vector<ElementSpan> undecayed;
    for_each_run(run.step.undecayed[static_cast<std::size_t>(which)], whole, whole + part.elements,
                 [&](std::int64_t first, std::int64_t elements, bool inside) {
                   if (inside) undecayed.push_back({first - whole, elements});
                 });
    const auto moment = [&](View all, float* factors) {
      return Moment{elements_of(all, stretch.state, stretch.elements),
                    factors == nullptr ? nullptr : factors + part.scales};
    };
    const View gradients = gradients_of(c.op, run, stretch, c.in[0]);
    const auto step = [&](View main) {
      run.kernels_of(c.op).adamw_narrow(gradients, moment(c.in[1], mean_scales),
                                        moment(c.in[2], square_scales), main, scale, settings,
                                        undecayed, rounded_weights(c, run, stretch));
    };
    halves ? with_joined(c, run, stretch, step) : step(weights_of(c.op, run, stretch, c.in[3], b));
    keep_gradients(run, which, stretch, gradients);
  }
}

}  // namespace

void adamw(const Call& c, Execution& run) {
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  if (run.step.skipped) {
    if (rounds_weights(c)) round_weights(c.op, c.in[3], c.out[3], which, run);
    return;
  }
  const BucketState& b = run.bucket(which);
  AdamW settings = run.config.adamw;
  settings.lr = run.step.lr;
  settings.step = run.step.updates;
  const double scale = run.step.clip_factor;
  const bool narrow = c.in[1].dtype != DType::fp32 || c.in[2].dtype != DType::fp32;
  if (narrow) return adamw_narrow(c, run, which, settings, scale);
  for (const Stretch& stretch : stretches(c.op, run, which)) {
    const View gradients = gradients_of(c.op, run, stretch, c.in[0]);
    settings.weight_decay = stretch.decays ? run.config.adamw.weight_decay : 0;
    if (c.in[3].dtype == DType::remainder16) {
      adamw_of_halves(c, run, stretch, gradients, settings);
      keep_gradients(run, which, stretch, gradients);
      continue;
    }
    run.kernels_of(c.op).adamw(gradients, elements_of(c.in[1], stretch.state, stretch.elements),
                               elements_of(c.in[2], stretch.state, stretch.elements),
                               weights_of(c.op, run, stretch, c.in[3], b), scale, settings,
                               rounded_weights(c, run, stretch));
    keep_gradients(run, which, stretch, gradients);
  }
}

}  // namespace pleat::execute
