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

// Both operands as numbers, in Resources::copies where they were codes: in bf16 where that holds
// them exactly, a code's few bits times a power of two, else in fp32.
[[nodiscard]] std::pair<View, View> widened(Resources&, View a, View b);

// c = op(a) op(b) (+ c) on the tensor cores' narrow types through cuBLASLt. False where the GPU,
// the blocks or the shape do not allow it: nothing was done.
[[nodiscard]] bool multiply_narrow(Resources&, DenseGemm&, const DenseProblem&, View a, View b,
                                   View c);

// Whether such a product gets fast_accumulation: x W^T of a forward pass, of E4M3 with a scale for
// each operand. Gradients keep fp32 sums; scales in blocks are applied in fp32 between stretches of
// K anyway.
[[nodiscard]] bool adds_up_fast(const DenseProblem&, NarrowKind a, NarrowKind b);

// A grouped product of fp8: on the tensor cores' narrow types (narrow_layout.hpp), else, with one
// scale a group, of codes widened to bf16, which is exact. p is of a and b. False where neither
// applies: nothing was done.
[[nodiscard]] bool multiply_narrow_groups(Resources&, Products p, View a, View b);

}  // namespace pleat::cuda
