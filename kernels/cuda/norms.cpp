// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The norms of the interface as norms of rows: whole rows, first columns, heads.
#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/norm.hpp"

namespace pleat {
namespace {

int row_count(std::int64_t rows) {
  PLEAT_ASSERT(rows <= cuda::kMaxNormRows);
  return static_cast<int>(rows);
}

int columns(std::int64_t cols) {
  PLEAT_ASSERT(cols <= INT32_MAX);
  return static_cast<int>(cols);
}

cuda::NormShape rows_of(View x, View y, std::int64_t cols, bool centered) {
  return {.rows = row_count(x.rows),
          .cols = cols,
          .x = {.ld = columns(x.cols)},
          .y = {.ld = columns(y.cols)},
          .rstd = {.ld = 1},
          .centered = centered};
}

// Heads [first, first + count) of packed rows.
cuda::NormShape heads_of(View x, const AttentionShape& s, std::int64_t first, std::int64_t count) {
  const cuda::RowPlace place{.ld = columns(x.cols),
                             .first = columns(first * s.head_dim),
                             .step = columns(s.head_dim)};
  return {.rows = row_count(x.rows * count),
          .cols = s.head_dim,
          .per = cuda::Divisor(columns(count)),
          .x = place,
          .y = place,
          .rstd = {.ld = columns(s.heads + s.kv_groups), .first = columns(first), .step = 1}};
}

void check(View x, View y, View rstd, const AttentionShape& s) {
  PLEAT_ASSERT(x.cols == s.columns() && y.rows == x.rows && y.cols == x.cols);
  PLEAT_ASSERT(rstd.elements() == x.rows * (s.heads + s.kv_groups));
}

ColumnBlocks values_of(View x, const AttentionShape& s) {
  const std::int64_t first = (s.heads + s.kv_groups) * s.head_dim;
  return {.width = x.cols - first, .from_first = first, .to_first = first};
}

}  // namespace

void CudaKernels::rms_norm(View x, View w, View y, View rstd, double eps) {
  PLEAT_ASSERT(w.elements() == x.cols);
  slice_norm(x, w, y, rstd, eps);
}

void CudaKernels::rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                               View dw) {
  PLEAT_ASSERT(w.elements() == x.cols && dx.rows == x.rows && dx.cols == x.cols);
  PLEAT_ASSERT(dresidual.data == nullptr || dresidual.elements() == x.elements());
  cuda::norm_backward(*resources_, dy, x, w, rstd, dresidual, dx, dw,
                      rows_of(x, dy, x.cols, false));
}

void CudaKernels::slice_norm(View x, View w, View y, View rstd, double eps) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(n <= x.cols && y.cols == n && y.rows == x.rows && rstd.elements() == x.rows);
  cuda::norm_forward(*resources_, x, w, y, rstd, eps, rows_of(x, y, n, false));
}

void CudaKernels::slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(n <= x.cols && dy.cols == n && dy.rows == x.rows && rstd.elements() == x.rows);
  PLEAT_ASSERT(dx.rows == x.rows && dx.cols == x.cols && dw.elements() == n);
  cuda::norm_backward(*resources_, dy, x, w, rstd, {}, dx, dw, rows_of(x, dy, n, false));
}

void CudaKernels::layer_norm(View x, View w, View y, View rstd, double eps) {
  PLEAT_ASSERT(y.elements() == x.elements() && rstd.elements() == x.rows);
  cuda::norm_forward(*resources_, x, w, y, rstd, eps, rows_of(x, x, x.cols, true));
}

void CudaKernels::layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                                 View dw) {
  PLEAT_ASSERT(dy.elements() == x.elements() && dx.elements() == x.elements());
  PLEAT_ASSERT(rstd.elements() == x.rows);
  PLEAT_ASSERT(dresidual.data == nullptr || dresidual.elements() == x.elements());
  cuda::norm_backward(*resources_, dy, x, w, rstd, dresidual, dx, dw,
                      rows_of(x, x, x.cols, true));
}

void CudaKernels::head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape& s,
                            double eps) {
  check(x, y, rstd, s);
  cuda::norm_forward(*resources_, x, wq, y, rstd, eps, heads_of(x, s, 0, s.heads));
  cuda::norm_forward(*resources_, x, wk, y, rstd, eps, heads_of(x, s, s.heads, s.kv_groups));
  copy_columns(x, y, values_of(x, s));
}

void CudaKernels::head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq,
                                View dwk, const AttentionShape& s) {
  check(x, dx, rstd, s);
  PLEAT_ASSERT(dy.rows == x.rows && dy.cols == x.cols);
  cuda::norm_backward(*resources_, dy, x, wq, rstd, {}, dx, dwq, heads_of(x, s, 0, s.heads));
  cuda::norm_backward(*resources_, dy, x, wk, rstd, {}, dx, dwk,
                      heads_of(x, s, s.heads, s.kv_groups));
  copy_columns(dy, dx, values_of(x, s));
}

}  // namespace pleat
