// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// LAMB's step.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/execute/optimizer_stretches.hpp"
#include "backend/execute/optimizers.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {

void lamb(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  const BucketState& b = run.bucket(which);
  AdamW settings = run.config.adamw;
  settings.step = run.step.updates;
  for (const Stretch& stretch : stretches(c.op, run, which)) {
    const View gradients = gradients_of(c.op, run, stretch, c.in[0]);
    keep_gradients(run, which, stretch, gradients);
    settings.weight_decay = stretch.decays ? run.config.adamw.weight_decay : 0;
    run.kernels.lamb(gradients, elements_of(c.in[1], stretch.state, stretch.elements),
                     elements_of(c.in[2], stretch.state, stretch.elements),
                     weights_of(c.op, run, stretch, c.in[3], b), run.step.clip_factor, settings);
  }
}

void lamb_norms(const Call& c, Execution& run) {
  run.kernels.zero(c.out[0]);
  if (run.step.skipped) return;
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  const BucketState& b = run.bucket(which);
  std::vector<ElementRange> others;  // count these; a table on another stage is that stage's own
  for (const Copies& copies : b.copies) {
    if (run.shards.place_in_copies(which) % copies.ranks != 0)
      others.push_back({copies.first, copies.elements});
  }
  std::vector<double> sums(static_cast<std::size_t>(c.out[0].elements()));
  Op part = c.op;  // of the shard, with main parameters of its own
  part.attr.first = 0;
  for (const View& main : c.in.subspan(1)) {
    if (b.has_main_params) part.attr.n = {main.elements()};
    for_each_parameter(part, run, which, [&](std::size_t number, const Stretch& stretch) {
      for_each_run(others, stretch.whole, stretch.whole + stretch.elements,
                   [&](std::int64_t first, std::int64_t elements, bool elsewhere) {
                     if (elsewhere) return;
                     const std::int64_t moved = first - stretch.whole;
                     const Stretch own{first, stretch.shard + moved, stretch.state + moved,
                                       elements, stretch.decays};
                     sums[2 * number] +=
                         run.kernels.sum_of_squares(weights_of(part, run, own, main, b));
                     sums[2 * number + 1] +=
                         run.kernels.sum_of_squares(gradients_of(part, run, own, c.in[0]));
                   });
    });
    part.attr.first += part.attr.n.n;
  }
  write_on_host(run.device, c.out[0], [&](View out) {
    std::ranges::transform(sums, out.f32(), [](double s) { return static_cast<float>(s); });
  });
}

void lamb_step(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  const BucketState& b = run.bucket(which);
  const std::vector<float> squares = values_of(run.device, c.in[2]);
  for_each_parameter(c.op, run, which, [&](std::size_t number, const Stretch& stretch) {
    const auto weight = static_cast<double>(squares[2 * number]);
    const auto step = static_cast<double>(squares[2 * number + 1]);
    const double trust = weight > 0 && step > 0 ? std::sqrt(weight / step) : 1;
    run.kernels.scaled_step(gradients_of(c.op, run, stretch, c.in[0]),
                            weights_of(c.op, run, stretch, c.in[1], b), 1, run.step.lr * trust);
  });
}

}  // namespace pleat::execute
