// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How often Megatron's kernels of the expert activation move its operands, as a layer pass:
// builders count one kernel, which is what Pleat runs (docs/MODEL.md section 7.3). Before
// apply_precision, which asks what a fused kernel makes (`passes` 0).
#pragma once

#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"
#include "core/spec/model.hpp"

namespace pleat {

void set_megatron_kernels(LayerProgram&, const ModelSpec&, const Plan&);

}  // namespace pleat
