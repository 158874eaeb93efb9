// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Clip and the optimizers' steps, over the runs of a rank's shard that have the same settings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"

namespace pleat {
void Executor::clip(const Call& c) {
  skipped_ = !std::isfinite(c.in[0].f32()[0]);
  if (!skipped_) {
    ++updates_;
    shards_.clear();
  }
  grad_norm_ = std::sqrt(static_cast<double>(c.in[0].f32()[0]));
  const double scale = config_.clip_norm > 0 ? config_.clip_norm / (grad_norm_ + 1e-6) : 1.0;
  c.out[0].f32()[0] = static_cast<float>(std::min(1.0, scale));
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

View Executor::gradients_of(const OptimizerRun& run, View tensor) const {
  return elements_of(tensor, gradients_in_shards() ? run.shard : run.whole, run.elements);
}

// The main parameters, or the weights where they are.
View Executor::weights_of(const OptimizerRun& run, View tensor, const BucketState& b) const {
  if (b.has_main_params) return elements_of(tensor, run.state, run.elements);
  return elements_of(tensor, weights_in_shards() ? run.shard : run.whole, run.elements);
}

void Executor::keep_gradients(Bucket which, const OptimizerRun& run, View gradients) {
  if (!config_.keep_gradients) return;
  shards_[which].push_back({run.whole, values_of(gradients)});
}

void Executor::adamw(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  AdamW settings = config_.adamw;
  settings.lr = lr_;
  settings.step = updates_;
  const auto scale = static_cast<double>(c.in[4].f32()[0]);
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const View gradients = gradients_of(run, c.in[0]);
    settings.weight_decay = run.decays ? config_.adamw.weight_decay : 0;
    kernels_.adamw(gradients, elements_of(c.in[1], run.state, run.elements),
                   elements_of(c.in[2], run.state, run.elements), weights_of(run, c.in[3], b),
                   scale, settings);
    keep_gradients(which, run, gradients);
  }
}

void Executor::momentum(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  Sgd settings{lr_, config_.momentum, 0};
  const auto scale = static_cast<double>(c.in[3].f32()[0]);
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const View gradients = gradients_of(run, c.in[0]);
    settings.weight_decay = run.decays ? config_.adamw.weight_decay : 0;
    kernels_.sgd(gradients, elements_of(c.in[1], run.state, run.elements),
                 weights_of(run, c.in[2], b), scale, settings);
    keep_gradients(which, run, gradients);
  }
}

// The weights that training reads, from the main parameters of this rank's shard.
void Executor::cast_weights(const Call& c) {
  if (skipped_) return;
  for (std::size_t i = 0; i < stage_.buckets.size(); ++i) {
    const BucketState& b = stage_.buckets[i];
    if (b.elements == 0 || c.op.in != std::vector{b.main_params}) continue;
    for (const Piece& p : pieces(static_cast<Bucket>(i))) {
      kernels_.copy(piece_of(p, c.in[0], true), piece_of(p, c.out[0], weights_in_shards()));
    }
    return;
  }
  throw ExecutionError(
      fmt::format("operation '{}': its operand is no bucket's main parameters", c.op.name));
}

}  // namespace pleat
