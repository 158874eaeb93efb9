// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// SGD's step with momentum.
#include "backend/execute/execution.hpp"
#include "backend/execute/optimizer_stretches.hpp"
#include "backend/execute/optimizers.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {

void momentum(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const Bucket which = run.shards.bucket_of(c.op, c.op.in[0]);
  const BucketState& b = run.bucket(which);
  Sgd settings{run.step.lr, run.config.momentum, 0};
  for (const Stretch& stretch : stretches(c.op, run, which)) {
    const View gradients = gradients_of(c.op, run, stretch, c.in[0]);
    settings.weight_decay = stretch.decays ? run.config.adamw.weight_decay : 0;
    run.kernels_of(c.op).sgd(gradients, elements_of(c.in[1], stretch.state, stretch.elements),
                             weights_of(c.op, run, stretch, c.in[2], b), run.step.clip_factor,
                             settings);
    keep_gradients(run, which, stretch, gradients);
  }
}

}  // namespace pleat::execute
