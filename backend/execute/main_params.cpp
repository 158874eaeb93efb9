// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/main_params.hpp"

#include <algorithm>

#include "backend/execute/execution.hpp"
#include "backend/execute/optimizer_stretches.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {

// The weights that training reads, from the main parameters of this rank's shard or a part of it.
void cast_weights(const Call& c, Execution& run) {
  round_weights(c.op, c.in[0], c.out[0], run.shards.bucket_of(c.op, c.op.out[0]), run);
}

void round_weights(const Op& op, View main_params, View weights, Bucket which, Execution& run) {
  const bool codes = run.bucket(which).narrow_in_place.has_value();
  if (run.step.skipped && !codes) return;  // else the same weights again
  for (const Stretch& stretch : stretches(op, run, which)) {
    const std::int64_t at = run.shards.weights_in_shards() ? stretch.shard : stretch.whole;
    run.copy_between(elements_of(main_params, stretch.state, stretch.elements),
                     elements_of(weights, at, stretch.elements));
  }
}

void copy_weights(Execution& run, ChosenSegments chosen, bool back) {
  for (std::size_t i = 0; i < run.stage.buckets.size(); ++i) {
    const BucketState& b = run.stage.buckets[i];
    for (const StateSegment& s : b.segments) {
      if (b.elements == 0 || !chosen(b, s)) continue;
      const View weights = run.store.state(b.weights, !back, "init");
      const View host = run.store.state(s.main_params, back, "init");
      for (const Piece& p : run.shards.pieces(static_cast<Bucket>(i))) {
        const std::int64_t first = std::max(p.shard, s.first);
        const std::int64_t last = std::min(p.shard + p.elements, s.first + s.elements);
        if (first >= last) continue;
        const std::int64_t at =
            run.shards.weights_in_shards() ? first : p.whole + (first - p.shard);
        const View weight = elements_of(weights, at, last - first);
        const View main = elements_of(host, first - s.first, last - first);
        back ? run.copy_between(main, weight) : run.copy_between(weight, main);
      }
    }
  }
}

void initialise_main_params(Execution& run) {
  if (run.program.plan.optimizer.main_params == DType::remainder16) return;  // zero
  copy_weights(
      run, [](const BucketState& b, const StateSegment&) { return b.has_main_params; }, false);
}

void refresh_host_weights(Execution& run) {
  copy_weights(
      run,
      [](const BucketState& b, const StateSegment& s) { return s.on_host && !b.has_main_params; },
      false);
}

}  // namespace pleat::execute
