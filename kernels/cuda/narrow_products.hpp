// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products of quantised operands.
#pragma once

#include <utility>

#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Both operands as numbers. Codes are copied to Resources::copies: as bf16 if that holds them
// exactly (a code's few bits times a power of two), else as fp32.
[[nodiscard]] std::pair<View, View> widened(Resources&, View a, View b);

// c = op(a) op(b) (+ c) on the tensor cores' narrow types through cuBLASLt. False if the GPU,
// the blocks or the shape do not allow it; nothing was done then.
[[nodiscard]] bool multiply_narrow(Resources&, DenseGemm&, const DenseProblem&, View a, View b,
                                   View c);

// Whether such a product gets fast_accumulation: x W^T of a forward pass, in E4M3 with one scale
// for each operand. Gradients keep fp32 sums. With scales in blocks, sums are in fp32 between
// stretches of K anyway.
[[nodiscard]] bool adds_up_fast(const DenseProblem&, NarrowKind a, NarrowKind b);

// A grouped product of fp8: on the tensor cores' narrow types (narrow_layout.hpp), or with codes
// widened to bf16, which is exact and needs one scale a group. p describes a and b. False if
// neither applies; nothing was done then.
[[nodiscard]] bool multiply_narrow_groups(Resources&, Products p, View a, View b);

}  // namespace pleat::cuda
