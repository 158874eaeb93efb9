// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices in groups, as our own kernels take them: C_i = op(A_i) op(B_i) (+ C_i).
// Group sizes lie in device memory; one group without them is a dense product.
#pragma once

#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Element (i, j) of an operand, before the group's offset, is data[i * row + j * col].
struct Strided {
  void* data = nullptr;
  DType dtype = DType::fp32;
  std::int64_t row = 0, col = 0;
};

struct Products {
  enum class Grouping { none, rows, depth };  // what a group's count is: all of one, M, or K
  Strided a, b, c;                            // A[M,K], B[K,N], C[M,N]
  std::int64_t m = 0, n = 0, k = 0;           // the grouped dimension's: the sum over groups
  Grouping grouping = Grouping::none;
  std::int64_t groups = 1;
  const std::int32_t* counts = nullptr;
  std::int64_t group_step = 0;  // elements from a group's B (rows) or C (depth) to the next one's
  bool accumulate = false;
};

// Any types and strides, fp32 arithmetic, the same bits wherever the operands lie.
void multiply_any(const Resources&, const Products&);

// bf16 operands on tensor cores, fp32 sums; C is bf16 or fp32. False where strides or alignment do
// not allow 16-byte loads: nothing was done.
[[nodiscard]] bool multiply_bf16(const Resources&, const Products&);

// multiply_bf16 with C_i = factors[i] op(A_i) op(B_i) (+ C_i); factors lie in device memory.
[[nodiscard]] bool multiply_bf16_scaled(const Resources&, const Products&, const float* factors);

// c = op(a) op(b) (+ c) of an fp32 and a bf16 operand on tensor cores: the fp32 one is the sum of
// two bf16 matrices, its rounding and what that left, which together hold 16 of its 24 bits. For
// the router. c in fp32 adds one product after the other; c in bf16, rounded once, is one product
// of twice the depth (of an fp32 `a`, nothing transposed). False where that does not fit: nothing
// was done.
[[nodiscard]] bool multiply_mixed(Resources&, DenseGemm&, DenseProblem, View a, View b, View c);

class GroupedLibrary;

// Takes the fastest kernel that exists here and fits the operands: cuBLASLt's, CUTLASS's, our own
// for tensor cores, or our own for any types.
void multiply_groups(Resources&, GroupedLibrary&, const Products&);

// CUTLASS's wgmma kernels (sm_90a), compiled only where its headers were found. False if they
// are missing or the operands do not fit; nothing was done then.
[[nodiscard]] bool multiply_groups_cutlass(Resources&, const Products&);

}  // namespace pleat::cuda
