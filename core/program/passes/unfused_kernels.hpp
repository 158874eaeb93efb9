// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations that a run of Megatron makes of several kernels, because the plan has a fusion off:
// how often they move their operands and how many kernels they launch, as a layer pass. Builders
// count one kernel (docs/MODEL.md section 7.5). After apply_precision, for its quantisations.
#pragma once

#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"
#include "core/spec/model.hpp"

namespace pleat {

void set_unfused_kernels(LayerProgram&, const ModelSpec&, const Plan&);

}  // namespace pleat
