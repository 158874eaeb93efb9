// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sharded gradients (ZeRO-2) and weights (ZeRO-3, FSDP) as a layer pass: a layer's weights are
// gathered before each of its passes, its gradients reduced and scattered after the backward pass.
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

// Adds the gathers and reductions of plan.sharding to a layer with weights, over dp × cp for dense
// weights and over edp for experts. They run beside compute, a layer ahead or behind, where the
// plan overlaps gradients and parameters. Megatron's FSDP gathers what is in no layer (tables,
// head) once a pass forward and keeps it (simulator/runtime_buffers.cpp counts it).
void apply_sharding(LayerProgram&, const Plan&, Runtime);

}  // namespace pleat
