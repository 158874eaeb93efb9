// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense products: cuBLASLt where it can, our own kernel for mixed types and odd sizes. Grouped
// ones: tensor cores for bf16, our own kernel for the rest.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/narrow_products.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

cuda::Strided operand(View v, bool transpose) {
  return transpose ? cuda::Strided{v.data, v.dtype, 1, v.cols}
                   : cuda::Strided{v.data, v.dtype, v.cols, 1};
}

}  // namespace

void CudaKernels::gemm(View a, bool transpose_a, View b, bool transpose_b, View c,
                       bool accumulate) {
  const std::int64_t m = c.rows, n = c.cols, k = transpose_a ? a.rows : a.cols;
  PLEAT_ASSERT((transpose_a ? a.cols : a.rows) == m && (transpose_b ? b.rows : b.cols) == n);
  PLEAT_ASSERT((transpose_b ? b.cols : b.rows) == k);
  if (m == 0 || n == 0) return;
  const cuda::DenseProblem dense{.m = m,
                                 .n = n,
                                 .k = k,
                                 .transpose_a = transpose_a,
                                 .transpose_b = transpose_b,
                                 .accumulate = accumulate,
                                 .inputs = a.dtype,
                                 .output = c.dtype,
                                 .device = resources_->device().index()};
  if (a.scales != nullptr || b.scales != nullptr) {
    if (cuda::multiply_narrow(*resources_, *dense_, dense, a, b, c)) return;
    const auto [wide_a, wide_b] = cuda::widened(*resources_, a, b);
    return gemm(wide_a, transpose_a, wide_b, transpose_b, c, accumulate);
  }
  cuda::note_taken_by(cuda::Implementation::cublaslt);
  if (k > 0 && cuda::DenseGemm::fits(a, b, c)) return dense_->run(dense, a.data, b.data, c.data);
  if (k > 0 && cuda::multiply_mixed(*resources_, *dense_, dense, a, b, c)) return;
  cuda::note_taken_by(cuda::Implementation::own);
  cuda::Products p{.a = operand(a, transpose_a),
                   .b = operand(b, transpose_b),
                   .c = operand(c, false),
                   .m = m,
                   .n = n,
                   .k = k};
  p.accumulate = accumulate;
  cuda::multiply_any(*resources_, p);
}

void CudaKernels::grouped_gemm(View a, View b, bool transpose_b, View counts, View c) {
  const std::int64_t groups = counts.elements();
  PLEAT_ASSERT(groups > 0 && b.rows % groups == 0 && a.rows == c.rows);
  const std::int64_t n = b.rows / groups, k = b.cols;
  PLEAT_ASSERT(transpose_b ? a.cols == k && c.cols == n : a.cols == n && c.cols == k);
  const cuda::Products p{.a = operand(a, false),
                         .b = operand(b, transpose_b),
                         .c = operand(c, false),
                         .m = a.rows,
                         .n = c.cols,
                         .k = a.cols,
                         .grouping = cuda::Products::Grouping::rows,
                         .groups = groups,
                         .counts = counts.i32(),
                         .group_step = n * k};
  if (a.scales != nullptr || b.scales != nullptr) {
    if (cuda::multiply_narrow_groups(*resources_, p, a, b)) return;
    const auto [wide_a, wide_b] = cuda::widened(*resources_, a, b);
    return grouped_gemm(wide_a, wide_b, transpose_b, counts, c);
  }
  cuda::multiply_groups(*resources_, *groups_, p);
}

void CudaKernels::grouped_wgrad(View a, View b, View counts, View c, bool accumulate) {
  const std::int64_t groups = counts.elements();
  PLEAT_ASSERT(groups > 0 && c.rows == groups * a.cols && c.cols == b.cols && a.rows == b.rows);
  const cuda::Products p{.a = operand(a, true),
                         .b = operand(b, false),
                         .c = operand(c, false),
                         .m = a.cols,
                         .n = b.cols,
                         .k = a.rows,
                         .grouping = cuda::Products::Grouping::depth,
                         .groups = groups,
                         .counts = counts.i32(),
                         .group_step = a.cols * b.cols,
                         .accumulate = accumulate};
  if (a.scales != nullptr || b.scales != nullptr) {
    if (cuda::multiply_narrow_groups(*resources_, p, a, b)) return;
    const auto [wide_a, wide_b] = cuda::widened(*resources_, a, b);
    return grouped_wgrad(wide_a, wide_b, counts, c, accumulate);
  }
  cuda::multiply_groups(*resources_, *groups_, p);
}

}  // namespace pleat
