// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quantised operands as cuBLASLt takes them: K contiguous, scales in its order.
#pragma once

#include <optional>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/dense_gemm.hpp"

namespace pleat::cuda {

[[nodiscard]] int capability(const Resources&);  // 90 for sm_90

// How cuBLASLt would take `v` on a GPU of that compute capability; `k_contiguous`: its columns are
// K. none: it cannot.
[[nodiscard]] NarrowKind narrow_kind(View v, bool k_contiguous, int capability);

// Bytes of copies that narrow_operand makes.
[[nodiscard]] std::size_t narrow_bytes(View v, bool k_contiguous, NarrowKind);
[[nodiscard]] NarrowOperand narrow_operand(const Resources&, View v, bool k_contiguous, NarrowKind,
                                           Scratch& copies);

// factors[g] = the scale of a's group g times that of b's; both have one block a group.
void group_factors(const Resources&, View a, View b, std::int64_t groups, float* factors);

// factors[0] = the product of both group scales, factors[1] = beta.
void narrow_factors(const Resources&, View a, View b, float beta, float* factors);

}  // namespace pleat::cuda
