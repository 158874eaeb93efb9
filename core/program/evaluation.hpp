// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The forward half of a step, for the loss on data that is not trained on.
#pragma once

#include "core/program/program.hpp"

namespace pleat {

// The stage with the forward passes of its microbatches only, in the same order. Weights, state and
// boundaries are the stage's own, so that one store serves both; nothing is kept for a backward
// pass, nothing that training counts is counted, and only the losses are set to zero before.
[[nodiscard]] StageProgram evaluation_of(const StageProgram&);

}  // namespace pleat
