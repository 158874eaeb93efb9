// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Expert-parallel overlap as a pair pass: the forward of one microbatch's layer and the backward of
// another's, interleaved on a compute and a communication stream so that each hides the other's
// exchanges (Megatron combined 1F1B, DualPipe; docs/MODEL.md section 5).
#pragma once

#include <vector>

#include "core/program/layer_program.hpp"

namespace pleat {

struct PairStep {
  Pass pass = Pass::forward;  // which of the two layers
  int op = 0;                 // index into its forward or backward list
  Stream stream = Stream::compute;
  bool operator==(const PairStep&) const = default;
};

// Rows on their way to experts and back: what a pair hides.
[[nodiscard]] bool is_token_exchange(const Op&);

// Where a list is cut: a segment ends after its first run of exchanges, the next one after the last
// run. Within a segment a pair runs the ops of one pass in their order, nothing between them.
struct Segments {
  int first_end = 0, second_end = 0;
};
[[nodiscard]] Segments pair_segments(const std::vector<Op>&);

// delay_wgrad in a program that is executed: moves the attention's weight gradients to the end of
// the backward list, so that what they read lives until then. What others wait for stays.
void delay_weight_gradients(LayerProgram&);

// Every op of forward_layer.forward and backward_layer.backward exactly once, each list in its own
// order. delay_wgrad moves the attention's weight gradients to the end.
[[nodiscard]] std::vector<PairStep> pair_layers(const LayerProgram& forward_layer,
                                                const LayerProgram& backward_layer,
                                                bool delay_wgrad);

}  // namespace pleat
