// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Activation offload as a layer pass: what a module reads is copied to host memory after its last
// use in the forward pass and comes back in the backward pass.
#pragma once

#include <set>

#include "core/program/layer_program.hpp"

namespace pleat {

// Applies plan.offload to a decoder layer; with `whole`, everything the layer saves goes
// (plan.offload_layers). Tensors that are not saved for the backward pass are left alone.
void apply_offload(LayerProgram&, const Plan&, bool whole);

// What the operations that one choice names read, with what that was gathered or converted from.
[[nodiscard]] std::set<TensorId> read_by(Offload, const LayerProgram&);
// The tensors of these that the choice sends away: activations that the backward pass reads.
[[nodiscard]] std::set<TensorId> offloaded_by(Offload, const LayerProgram&);

}  // namespace pleat
