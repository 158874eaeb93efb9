// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products by Eigen, dense and in runs of rows (one run an expert). Row major throughout.
#include <Eigen/Core>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Matrix>;
using Output = Eigen::Map<Matrix>;

template <class Left, class Right>
void multiply(const Left& a, const Right& b, Output c, bool accumulate) {
  PLEAT_ASSERT(a.cols() == b.rows() && c.rows() == a.rows() && c.cols() == b.cols());
  if (c.size() == 0) return;
  if (accumulate) {
    c.noalias() += a * b;
  } else {
    c.noalias() = a * b;
  }
}

Input input(View v) {
  PLEAT_ASSERT(v.dtype == DType::fp32);
  return {v.f32(), v.rows, v.cols};
}

Output output(View v) {
  PLEAT_ASSERT(v.dtype == DType::fp32);
  return {v.f32(), v.rows, v.cols};
}

}  // namespace

void CpuKernels::gemm(View a, bool transpose_a, View b, bool transpose_b, View c, bool accumulate) {
  const Input left = input(a), right = input(b);
  const Output out = output(c);
  if (transpose_a && transpose_b) {
    multiply(left.transpose(), right.transpose(), out, accumulate);
  } else if (transpose_a) {
    multiply(left.transpose(), right, out, accumulate);
  } else if (transpose_b) {
    multiply(left, right.transpose(), out, accumulate);
  } else {
    multiply(left, right, out, accumulate);
  }
}

void CpuKernels::grouped_gemm(View a, View b, bool transpose_b, View counts, View c) {
  const std::int64_t groups = counts.elements();
  PLEAT_ASSERT(groups > 0 && b.rows % groups == 0 && a.rows == c.rows);
  const std::int64_t n = b.rows / groups, k = b.cols;
  PLEAT_ASSERT(transpose_b ? a.cols == k && c.cols == n : a.cols == n && c.cols == k);
  std::int64_t row = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t rows = counts.i32()[g];
    PLEAT_ASSERT(rows >= 0 && row + rows <= a.rows);
    const Input left(a.f32() + row * a.cols, rows, a.cols);
    const Input right(b.f32() + g * n * k, n, k);
    const Output out(c.f32() + row * c.cols, rows, c.cols);
    if (transpose_b) {
      multiply(left, right.transpose(), out, false);
    } else {
      multiply(left, right, out, false);
    }
    row += rows;
  }
  PLEAT_ASSERT(row == a.rows);
}

void CpuKernels::grouped_wgrad(View a, View b, View counts, View c, bool accumulate) {
  const std::int64_t groups = counts.elements();
  PLEAT_ASSERT(groups > 0 && c.rows == groups * a.cols && c.cols == b.cols && a.rows == b.rows);
  std::int64_t row = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t rows = counts.i32()[g];
    PLEAT_ASSERT(rows >= 0 && row + rows <= a.rows);
    const Input left(a.f32() + row * a.cols, rows, a.cols);
    const Input right(b.f32() + row * b.cols, rows, b.cols);
    const Output out(c.f32() + g * a.cols * c.cols, a.cols, c.cols);
    multiply(left.transpose(), right, out, accumulate);
    row += rows;
  }
  PLEAT_ASSERT(row == a.rows);
}

}  // namespace pleat
