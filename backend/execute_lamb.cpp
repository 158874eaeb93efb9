// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// LAMB's step: directions, norms of whole parameters from what each rank has of them, the step.
#include <algorithm>
#include <cmath>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {

void Executor::lamb(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  AdamW settings = config_.adamw;
  settings.step = updates_;
  for (const OptimizerRun& run : optimizer_runs(c.op, which)) {
    const View gradients = gradients_of(c.op, run, c.in[0]);
    keep_gradients(which, run, gradients);
    settings.weight_decay = run.decays ? config_.adamw.weight_decay : 0;
    kernels_.lamb(gradients, elements_of(c.in[1], run.state, run.elements),
                  elements_of(c.in[2], run.state, run.elements), weights_of(c.op, run, c.in[3], b),
                  clip_factor_, settings);
  }
}

// What this rank steps, parameter by parameter: visit(number, run).
template <class Visit>
void Executor::for_each_parameter(const Op& op, Bucket which, Visit visit) {
  const auto& all = stage_.buckets[static_cast<std::size_t>(which)].parameters;
  for (const OptimizerRun& run : optimizer_runs(op, which)) {
    const std::int64_t end = run.whole + run.elements;
    auto at = std::partition_point(all.begin(), all.end(), [&](const ParameterRange& p) {
      return p.first + p.elements <= run.whole;
    });
    for (; at != all.end() && at->first < end; ++at) {
      const std::int64_t first = std::max(at->first, run.whole);
      const std::int64_t last = std::min(at->first + at->elements, end);
      const std::int64_t moved = first - run.whole;
      visit(static_cast<std::size_t>(at - all.begin()),
            OptimizerRun{first, run.shard + moved, run.state + moved, last - first, run.decays});
    }
  }
}

void Executor::lamb_norms(const Call& c) {
  kernels_.zero(c.out[0]);
  if (skipped_) return;
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  std::vector<ElementRange> others;  // count these; a table on another stage is that stage's own
  for (const Copies& copies : b.copies) {
    if (place_in_copies(which) % copies.ranks != 0)
      others.push_back({copies.first, copies.elements});
  }
  std::vector<double> sums(static_cast<std::size_t>(c.out[0].elements()));
  Op part = c.op;  // of the shard, with main parameters of its own
  part.attr.first = 0;
  for (const View& main : c.in.subspan(1)) {
    if (b.has_main_params) part.attr.n = {main.elements()};
    for_each_parameter(part, which, [&](std::size_t number, const OptimizerRun& run) {
      for_each_run(others, run.whole, run.whole + run.elements,
                   [&](std::int64_t first, std::int64_t elements, bool elsewhere) {
                     if (elsewhere) return;
                     const std::int64_t moved = first - run.whole;
                     const OptimizerRun own{first, run.shard + moved, run.state + moved, elements,
                                            run.decays};
                     sums[2 * number] += kernels_.sum_of_squares(weights_of(part, own, main, b));
                     sums[2 * number + 1] +=
                         kernels_.sum_of_squares(gradients_of(part, own, c.in[0]));
                   });
    });
    part.attr.first += part.attr.n.n;
  }
  write_on_host(device_, c.out[0], [&](View out) {
    std::ranges::transform(sums, out.f32(), [](double s) { return static_cast<float>(s); });
  });
}

void Executor::lamb_step(const Call& c) {
  if (skipped_) return;
  const Bucket which = bucket_of(c.op, c.op.in[0]);
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(which)];
  const std::vector<float> squares = values_of(device_, c.in[2]);
  for_each_parameter(c.op, which, [&](std::size_t number, const OptimizerRun& run) {
    const auto weight = static_cast<double>(squares[2 * number]);
    const auto step = static_cast<double>(squares[2 * number + 1]);
    const double trust = weight > 0 && step > 0 ? std::sqrt(weight / step) : 1;
    kernels_.scaled_step(gradients_of(c.op, run, c.in[0]), weights_of(c.op, run, c.in[1], b), 1,
                         lr_ * trust);
  });
}

}  // namespace pleat
