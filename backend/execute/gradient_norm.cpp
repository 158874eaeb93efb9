// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/gradient_norm.hpp"

#include <algorithm>
#include <cmath>

#include "backend/execute/execution.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// Over the part of a bucket that this rank holds, without the elements that another rank counts.
double sum_of_squares(Execution& run, Bucket which, View gradients) {
  const std::vector<Elsewhere> elsewhere = run.shards.counted_elsewhere(which);
  double sum = 0;
  for (const Piece& piece : run.shards.pieces(which)) {
    const View mine = piece_of(piece, gradients, run.shards.gradients_in_shards());
    const std::int64_t end = piece.whole + piece.elements;
    std::int64_t at = piece.whole;
    const auto count_to = [&](std::int64_t to) {
      to = std::clamp(to, at, end);
      if (to > at) sum += run.kernels.sum_of_squares(elements_of(mine, at - piece.whole, to - at));
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

}  // namespace

// This rank's part of the squared norm. Where replicas hold the same gradients the first one
// counts.
void grad_norm(const Call& c, Execution& run) {
  double sum = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Bucket which = run.shards.bucket_of(c.op, c.op.in[i]);
    if (run.config.change_gradients) {
      for (const Piece& piece : run.shards.pieces(which)) {
        const View mine = piece_of(piece, c.in[i], run.shards.gradients_in_shards());
        change_values(run.device, mine, [&](std::span<float> values) {
          run.config.change_gradients(run.ranks.rank(), run.step.number, which, values);
        });
      }
    }
    if (run.shards.place(which).first_of_replicas) sum += sum_of_squares(run, which, c.in[i]);
  }
  run.step.norm_part = static_cast<float>(sum);
  run.device.copy(c.out[0].data, &run.step.norm_part, sizeof run.step.norm_part);
}

void clip(const Call& c, Execution& run) {
  float squares = 0;
  run.device.copy(&squares, c.in[0].data, sizeof squares);
  run.step.skipped = !std::isfinite(squares);
  if (!run.step.skipped) {
    ++run.step.updates;
    run.step.gradients.clear();
  }
  run.step.grad_norm = std::sqrt(static_cast<double>(squares));
  const double scale =
      run.config.clip_norm > 0 ? run.config.clip_norm / (run.step.grad_norm + 1e-6) : 1.0;
  const auto factor = static_cast<float>(std::min(1.0, scale));
  run.device.copy(c.out[0].data, &factor, sizeof factor);
  run.step.clip_factor = static_cast<double>(factor);
}

}  // namespace pleat::execute
