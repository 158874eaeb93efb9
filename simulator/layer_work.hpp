// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a layer holds and takes at least, for the bounds of a search.
#pragma once

#include <array>
#include <cstdint>

#include "core/program/layer_program.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

// How many parameters a layer has, for the bounds of a search.

// On one rank, in elements, without buffers. By Bucket; 2 and 3: of them the matrices of 0 and 1
// (core/program/step_state.hpp).
struct LayerWeights {
  std::array<std::int64_t, 4> of{};
  std::array<std::int64_t, 4> replicated{};  // of these: also summed over tp
  std::int64_t table = 0;                    // of[0]: an embedding table, which a stage has once
  std::int64_t kept_gradients = 0;           // bytes (kept_weight_gradients)
  bool operator==(const LayerWeights&) const = default;
};
[[nodiscard]] LayerWeights count_weights(const LayerProgram&);

// Whether the work stays on the compute stream, whatever overlaps.
[[nodiscard]] bool is_compute(CostClass);

// What a layer takes at least, however its exchanges are overlapped: for the bounds of a search. No
// timeline of the whole layer is run, so it costs less than a price.

// One layer of one microbatch. Times by Pass.
struct LayerWork {
  Seconds compute[2];   // arithmetic and memory-bound work
  Seconds matrix;       // of that, of both passes: matrix products and attention
  // Time the compute stream needs whether the layer runs alone, with its shared expert moved, or in
  // a pair: everything but expert exchanges, with the waits for other exchanges that lie between
  // neighbouring ops and that nothing else can fill.
  Seconds in_order[2];
  Seconds busy[2];       // of that, the operations themselves, without waits
  Seconds exchanges[2];  // of experts; they do not overlap each other
  // To and from host memory, and of sharded weights and gradients; nor do these.
  Seconds copies[2];
  Seconds halves[2];     // of compute: input and weight gradients, where the backward pass is split
  Seconds send;          // the slower of what it sends to its neighbours
  std::int64_t saved = 0;  // bytes that the forward pass leaves behind
  // Bytes beside those: the highest point of the backward pass above its start.
  std::int64_t beside = 0;
  std::int64_t net = 0;  // bytes: the backward pass's end above its start
};

// The least of that, which is cheaper to find out: `compute`, `matrix`, `halves` and `send` alone.
[[nodiscard]] LayerWork compute_of(const LayerProgram&, const Binding&, const ClusterView&,
                                   const Profile&);

// Of a decoder layer whose mixer and MLP (or experts) are each known as a layer of its own: no more
// than work_of the whole, and the same where no exchange waits between the halves.
[[nodiscard]] LayerWork both_halves(const LayerWork& mixer, const LayerWork& mlp);
[[nodiscard]] LayerWeights both_halves(const LayerWeights& mixer, const LayerWeights& mlp);

[[nodiscard]] LayerWork work_of(const TimedLayer&, const Binding&, const ClusterView&,
                                const Profile&);

}  // namespace pleat
