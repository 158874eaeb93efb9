// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a layer takes at least, however its exchanges are overlapped: for the bounds of a search. No
// timeline of the whole layer is run, so it costs less than a price.
#pragma once

#include "simulator/layer_costs.hpp"

namespace pleat {

// One layer of one microbatch. Times by Pass.
struct LayerWork {
  Seconds compute[2];   // arithmetic and memory-bound work
  // Time the compute stream needs whether the layer runs alone, with its shared expert moved, or in a
  // pair: everything but expert exchanges, with the waits for other exchanges that lie between
  // neighbouring ops and that nothing else can fill.
  Seconds in_order[2];
  Seconds exchanges[2];  // of experts; they do not overlap each other
  Seconds halves[2];     // of compute: input and weight gradients, where the backward pass is split
  Seconds send;          // the slower of what it sends to its neighbours
  std::int64_t saved = 0;  // bytes that the forward pass leaves behind
};

// The least of that, which is cheaper to find out: `compute`, `halves` and `send` alone.
[[nodiscard]] LayerWork compute_of(const LayerProgram&, const Binding&, const ClusterView&,
                                   const Profile&);

[[nodiscard]] LayerWork work_of(const LayerProgram&, const Binding&, const ClusterView&,
                                const Profile&);

}  // namespace pleat
