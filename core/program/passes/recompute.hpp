// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recompute as a layer pass: what a module writes is dropped after the forward pass and computed
// again in the backward pass, just before it is first read.
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

// Applies plan.recompute and plan.recompute_full to a decoder layer; other layers are left alone.
// Routing is never recomputed: the chosen experts, probabilities and counts stay saved, so that the
// second run sends every token where the first one did.
// Megatron's checkpointed modules (mlp, moe, shared_experts, whole layers) run again in full, what
// nothing reads included; Pleat runs again what the backward pass reads.
void apply_recompute(LayerProgram&, const Plan&, Runtime);

// Whether a forward operation may run a second time at all.
[[nodiscard]] bool can_run_again(const Op&);

}  // namespace pleat
