// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/products.hpp"

namespace pleat::cuda {

// multiply_bf16 with C_i = factors[i] op(A_i) op(B_i) (+ C_i); factors lie in device memory.
[[nodiscard]] bool multiply_bf16_scaled(const Resources&, const Products&, const float* factors);

}  // namespace pleat::cuda
