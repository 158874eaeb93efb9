// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Precision as a layer pass: GEMM inputs are quantised to a narrow type, in both layouts the three
// GEMMs of a linear layer need; what is saved for the weight gradient is the narrow copy.
#pragma once

#include "core/program/layer_program.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

void apply_precision(LayerProgram&, const Plan&, Runtime);

}  // namespace pleat
