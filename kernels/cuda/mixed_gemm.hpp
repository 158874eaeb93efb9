// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// c = op(a) op(b) (+ c) of an fp32 and a bf16 operand on tensor cores: the fp32 one is the sum of two
// bf16 matrices, its rounding and what that left, which together hold 16 of its 24 bits. For the
// router. c in fp32 adds one product after the other; c in bf16, rounded once, is one product of twice
// the depth (of an fp32 `a`, nothing transposed). False where that does not fit: nothing was done.
[[nodiscard]] bool multiply_mixed(Resources&, DenseGemm&, DenseProblem, View a, View b, View c);

}  // namespace pleat::cuda
