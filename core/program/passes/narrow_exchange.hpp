// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Experts' rows that travel in fp8 (DeepSeek-V3 arXiv:2412.19437, MegaScale-MoE arXiv:2505.11432).
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

// Marks exchanges of rows to the experts and back, where the plan narrows them, in both passes, and
// adds their conversions: tokens before they are copied, rows where they arrive. What experts that
// compute in 8 bits receive they need not convert again; what comes back is widened by the sum over
// the copies.
void apply_narrow_exchange(LayerProgram&, const Plan&);

}  // namespace pleat
