// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Host memory of a plan that keeps activations there.
#pragma once

#include <cstdint>

#include "core/program/program.hpp"

namespace pleat {

// Bytes of one GPU's share at the highest moment of a step, of the stage that has most.
[[nodiscard]] std::int64_t offloaded_bytes(const Program&);

}  // namespace pleat
