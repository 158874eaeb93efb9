// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/optimizer_stretches.hpp"

#include <algorithm>

#include "backend/execute/execution.hpp"
#include "backend/optimizer/weight_decay.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {

std::vector<Stretch> stretches(const Op& op, const Execution& run, Bucket which) {
  std::vector<Stretch> found;
  const std::int64_t begin = op.attr.first, end = begin + op.attr.n.n;
  for (const Piece& p : run.shards.pieces(which)) {
    const std::int64_t first = std::max(begin, p.shard), last = std::min(end, p.shard + p.elements);
    if (first >= last) continue;
    const std::int64_t to_whole = p.whole - p.shard;
    for_each_run(run.step.undecayed[static_cast<std::size_t>(which)], first + to_whole,
                 last + to_whole, [&](std::int64_t whole, std::int64_t elements, bool undecayed) {
                   const std::int64_t shard = whole - to_whole;
                   found.push_back({whole, shard, shard - begin, elements, !undecayed});
                 });
  }
  return found;
}

View gradients_of(const Op& op, const Execution& run, const Stretch& stretch, View tensor) {
  if (op.on_host) return elements_of(tensor, stretch.state, stretch.elements);
  return elements_of(tensor, run.shards.gradients_in_shards() ? stretch.shard : stretch.whole,
                     stretch.elements);
}

View weights_of(const Op& op, const Execution& run, const Stretch& stretch, View tensor,
                const BucketState& b) {
  if (b.has_main_params || op.on_host) return elements_of(tensor, stretch.state, stretch.elements);
  return elements_of(tensor, run.shards.weights_in_shards() ? stretch.shard : stretch.whole,
                     stretch.elements);
}

void keep_gradients(Execution& run, Bucket which, const Stretch& stretch, View gradients) {
  if (!run.config.keep_gradients) return;
  run.step.gradients[which].push_back({stretch.whole, values_of(run.device, gradients)});
}

void for_each_parameter(const Op& op, const Execution& run, Bucket which,
                        const std::function<void(std::size_t, const Stretch&)>& visit) {
  const auto& all = run.bucket(which).parameters;
  for (const Stretch& stretch : stretches(op, run, which)) {
    const std::int64_t end = stretch.whole + stretch.elements;
    auto at = std::partition_point(all.begin(), all.end(), [&](const ParameterRange& p) {
      return p.first + p.elements <= stretch.whole;
    });
    for (; at != all.end() && at->first < end; ++at) {
      const std::int64_t first = std::max(at->first, stretch.whole);
      const std::int64_t last = std::min(at->first + at->elements, end);
      const std::int64_t moved = first - stretch.whole;
      visit(static_cast<std::size_t>(at - all.begin()),
            Stretch{first, stretch.shard + moved, stretch.state + moved, last - first,
                    stretch.decays});
    }
  }
}

}  // namespace pleat::execute
