// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products of quantised operands.
#pragma once

#include <utility>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Both operands as numbers, in Resources::copies where they were codes: in bf16 where that holds them
// exactly, a code's few bits times a power of two, else in fp32.
[[nodiscard]] std::pair<View, View> widened(Resources&, View a, View b);

}  // namespace pleat::cuda
