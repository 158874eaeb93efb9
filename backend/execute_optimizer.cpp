// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Clip and the optimizers' steps, over the runs of a rank's shard that have the same settings.
#include <algorithm>
#include <cmath>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/step_state.hpp"

namespace pleat {

void Executor::clip(const Call& c) {
  float squares = 0;
  device_.copy(&squares, c.in[0].data, sizeof squares);
  skipped_ = !std::isfinite(squares);
  if (!skipped_) {
    ++updates_;
    shards_.clear();
  }
  grad_norm_ = std::sqrt(static_cast<double>(squares));
  const double scale = config_.clip_norm > 0 ? config_.clip_norm / (grad_norm_ + 1e-6) : 1.0;
  const auto factor = static_cast<float>(std::min(1.0, scale));
  device_.copy(c.out[0].data, &factor, sizeof factor);
  clip_factor_ = static_cast<double>(factor);
}

// Of the part of the shard that the operation steps.
std::vector<Executor::OptimizerRun> Executor::optimizer_runs(const Op& op, Bucket which) const {
  std::vector<OptimizerRun> runs;
  const std::int64_t begin = op.attr.first, end = begin + op.attr.n.n;
  for (const Piece& p : pieces(which)) {
    const std::int64_t first = std::max(begin, p.shard), last = std::min(end, p.shard + p.elements);
    if (first >= last) continue;
    const std::int64_t to_whole = p.whole - p.shard;
    for_each_run(undecayed_[static_cast<std::size_t>(which)], first + to_whole, last + to_whole,
                 [&](std::int64_t whole, std::int64_t elements, bool undecayed) {
                   const std::int64_t shard = whole - to_whole;
                   runs.push_back({whole, shard, shard - begin, elements, !undecayed});
                 });
  }
  return runs;
}

View Executor::gradients_of(const Op& op, const OptimizerRun& run, View tensor) const {
  if (op.on_host) return elements_of(tensor, run.state, run.elements);
  return elements_of(tensor, gradients_in_shards() ? run.shard : run.whole, run.elements);
}

// The main parameters, or the weights where they are.
View Executor::weights_of(const Op& op, const OptimizerRun& run, View tensor,
                          const BucketState& b) const {
  if (b.has_main_params || op.on_host) return elements_of(tensor, run.state, run.elements);
  return elements_of(tensor, weights_in_shards() ? run.shard : run.whole, run.elements);
}

void Executor::keep_gradients(Bucket which, const OptimizerRun& run, View gradients) {
  if (!config_.keep_gradients) return;
  shards_[which].push_back({run.whole, values_of(device_, gradients)});
}

void Executor::adamw(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  AdamW settings = config_.adamw;
  settings.lr = lr_;
  settings.step = updates_;
  const double scale = clip_factor_;
  const bool narrow = c.in[1].dtype != DType::fp32 || c.in[2].dtype != DType::fp32;
  if (narrow) return adamw_narrow(c, which, settings, scale);
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const View gradients = gradients_of(c.op, run, c.in[0]);
    settings.weight_decay = run.decays ? config_.adamw.weight_decay : 0;
    if (c.in[3].dtype == DType::remainder16) {
      adamw_of_halves(c, run, gradients, settings);
      keep_gradients(which, run, gradients);
      continue;
    }
    kernels_of(c.op).adamw(gradients, elements_of(c.in[1], run.state, run.elements),
                           elements_of(c.in[2], run.state, run.elements),
                           weights_of(c.op, run, c.in[3], b), scale, settings);
    keep_gradients(which, run, gradients);
  }
}

// Scales of blocks cross the ends of runs: whole parts of the shard at once.
void Executor::adamw_narrow(const Call& c, Bucket which, const AdamW& settings, double scale) {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const bool halves = c.in[3].dtype == DType::remainder16;
  std::size_t next = halves ? 6 : 5;  // after the factor of the gradients, and the weights
  const auto scales = [&](View moment) -> float* {
    return scaled_moment(moment.dtype) ? c.in[next++].f32() : nullptr;
  };
  float* const mean_scales = scales(c.in[1]);
  float* const square_scales = scales(c.in[2]);
  const std::int64_t index = bucket_place(which).index;
  for (const ShardPart& part : shard_parts(b, index, c.op.attr.first, c.op.attr.n.n)) {
    const std::int64_t whole = part.whole;
    const OptimizerRun run{whole, part.first, part.first - c.op.attr.first, part.elements, true};
    std::vector<ElementSpan> undecayed;
    for_each_run(undecayed_[static_cast<std::size_t>(which)], whole, whole + part.elements,
                 [&](std::int64_t first, std::int64_t elements, bool inside) {
                   if (inside) undecayed.push_back({first - whole, elements});
                 });
    const auto moment = [&](View all, float* factors) {
      return Moment{elements_of(all, run.state, run.elements),
                    factors == nullptr ? nullptr : factors + part.scales};
    };
    const View gradients = gradients_of(c.op, run, c.in[0]);
    const auto step = [&](View main) {
      kernels_of(c.op).adamw_narrow(gradients, moment(c.in[1], mean_scales),
                                    moment(c.in[2], square_scales), main, scale, settings,
                                    undecayed);
    };
    halves ? with_joined(c, run, step) : step(weights_of(c.op, run, c.in[3], b));
    keep_gradients(which, run, gradients);
  }
}

void Executor::momentum(const Call& c) {
  if (skipped_) return;
  if (c.in.size() == 3) return muon_momentum(c);
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  Sgd settings{lr_, config_.momentum, 0};
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const View gradients = gradients_of(c.op, run, c.in[0]);
    settings.weight_decay = run.decays ? config_.adamw.weight_decay : 0;
    kernels_of(c.op).sgd(gradients, elements_of(c.in[1], run.state, run.elements),
                         weights_of(c.op, run, c.in[2], b), clip_factor_, settings);
    keep_gradients(which, run, gradients);
  }
}

// The weights that training reads, from the main parameters of this rank's shard or a part of it.
void Executor::cast_weights(const Call& c) {
  if (c.op.on_host) return kernels_.copy(c.in[0], c.out[0]);  // they go back in every step
  const Bucket which = bucket_of(c.op, c.op.out[0]);
  const bool codes = stage_.buckets[static_cast<std::size_t>(which)].narrow_in_place.has_value();
  if (skipped_ && !codes) return;  // else the same weights again
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const std::int64_t at = weights_in_shards() ? run.shard : run.whole;
    copy_between(elements_of(c.in[0], run.state, run.elements),
                 elements_of(c.out[0], at, run.elements));
  }
}

}  // namespace pleat
