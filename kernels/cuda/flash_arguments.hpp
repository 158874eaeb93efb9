// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/flash.hpp"

namespace pleat::cuda {

struct FlashArguments;

// Checks the operands; visible ranges are copied to `visible` (device memory, or none if the problem
// is causal).
[[nodiscard]] FlashArguments flash_arguments(const Resources&, const FlashProblem&,
                                             const HeadColumns& o, View lse, void* visible);
[[nodiscard]] std::size_t visible_bytes(const FlashProblem&);

}  // namespace pleat::cuda
