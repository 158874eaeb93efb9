// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges that Megatron runs beside compute inside one layer, as a layer pass: tensor parallel,
// context parallel, and the shared expert beside the token exchange (docs/MODEL.md section 5).
// Expert exchanges beside another microbatch are the pair pass; gradients and parameters are step
// level.
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

// Moves such exchanges to the communication stream and marks those in pieces; the shared expert's
// ops go behind the exchanges they run beside.
void apply_overlap(LayerProgram&, const Plan&);

}  // namespace pleat
