// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer's step on one bucket's shard: on the device, on the host, with state that comes
// from the host for it.
#pragma once

#include "core/program/program.hpp"

namespace pleat {

// Appends to the epilogue. `scale`: what gradients are multiplied by.
void add_optimizer_step(StageProgram&, const ModelSpec&, const Plan&, Runtime, std::size_t bucket,
                        TensorId scale);

// In order; every expert's matrix by itself.
[[nodiscard]] std::vector<ParameterRange> parameters_of(const StageProgram&, std::size_t bucket);

}  // namespace pleat
