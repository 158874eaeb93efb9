// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tensors that Megatron and TransformerEngine hold beside those of the mathematics, as a layer
// pass: they live where autograd keeps them, and nothing is computed with them (docs/MODEL.md
// section 3).
#pragma once

#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"

namespace pleat {

void add_megatron_buffers(LayerProgram&, const Plan&);

}  // namespace pleat
