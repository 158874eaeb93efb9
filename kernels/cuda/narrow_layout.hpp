// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quantised operands in the layouts that cuBLASLt and CUTLASS take.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/products.hpp"

namespace pleat::cuda {

// Quantised operands as cuBLASLt takes them: K contiguous, scales in its order.

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

// Grouped products of 8-bit codes, as CUTLASS takes them: K contiguous in both operands.

inline constexpr std::int64_t kStripRows =
    128;  // of K: blocks of scales, and what groups are padded to

// C_i[M,N] = A_i[M,K] B_i[N,K]^T (+ C_i). By `grouping` group i has
//   rows: counts[i] rows of A and C, all of its K; B_i begins at b + i * b_step
//   depth: counts[i] of K, from column 128 s_i of both operands on, where s_i is the number of
//   strips of 128 in the groups before, each group's last one padded with zeros; C_i at
//   c + i * c_step
struct NarrowGroups {
  enum class Scales : std::uint8_t {
    group,  // one number for each group's product: factors[i]
    blocks  // 128 of K. rows: scales_a[row, K/128], scales_b[i, N/128, K/128] for squares of B.
            // depth: scales_a[s, M], scales_b[s, N] of strip s
  };
  Products::Grouping grouping = Products::Grouping::rows;
  Scales scales = Scales::group;
  pleat::SmallFloat format_a = pleat::SmallFloat::e4m3, format_b = pleat::SmallFloat::e4m3;
  std::int64_t groups = 1, m = 0, n = 0, k = 0;  // the grouped dimension's: of all
  const std::int32_t* counts = nullptr;          // these and all below in device memory
  const std::uint8_t *a = nullptr, *b = nullptr;
  std::int64_t a_ld = 0, b_ld = 0, b_step = 0;
  const float *factors = nullptr, *scales_a = nullptr, *scales_b = nullptr;
  Strided c;  // bf16 by rows, fp32 by depth; columns contiguous
  std::int64_t c_step = 0;
  bool accumulate = false;
};

// Whether a build's CUTLASS has kernels for a product on this GPU, and the product. A group without
// rows adds nothing, or, where it does not accumulate, makes zeros.
[[nodiscard]] bool has_code_kernels(const Resources&);
void multiply_codes(Resources&, const NarrowGroups&);

// Lays out p's operands, which are quantised matrices a and b, and multiplies. False where blocks,
// formats or shapes do not fit, or there are no such kernels: nothing was done.
[[nodiscard]] bool multiply_grouped_codes(Resources&, const Products& p, View a, View b);

}  // namespace pleat::cuda
