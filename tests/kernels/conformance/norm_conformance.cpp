// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// RMSNorm of rows, of slices and of heads; gradients against finite differences.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

constexpr double kEps = 1e-5;

double rstd_of(const Matrix& x, std::int64_t row, std::int64_t first, std::int64_t n) {
  double sum = 0;
  for (std::int64_t c = first; c < first + n; ++c) sum += x(row, c) * x(row, c);
  return 1 / std::sqrt(sum / static_cast<double>(n) + kEps);
}

// The first w.cols columns of every row, normalised.
Matrix slice_norm(const Matrix& x, const Matrix& w) {
  Matrix y(x.rows, w.cols);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < w.cols; ++c) {
      y(r, c) = x(r, c) * rstd_of(x, r, 0, w.cols) * w(0, c);
    }
  }
  return y;
}

Matrix head_norm(const Matrix& x, const Matrix& wq, const Matrix& wk, const AttentionShape& s) {
  Matrix y = x;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t h = 0; h < s.heads + s.kv_groups; ++h) {
      const double rstd = rstd_of(x, r, h * s.head_dim, s.head_dim);
      for (std::int64_t c = 0; c < s.head_dim; ++c) {
        y(r, h * s.head_dim + c) *= rstd * (h < s.heads ? wq : wk)(0, c);
      }
    }
  }
  return y;
}

struct NormSize {
  std::int64_t rows, cols, width;  // of x; columns normalised
};
constexpr NormSize kSizes[] = {{0, 7, 7},   {1, 1, 1},   {1, 7, 5},    {5, 16, 16},
                               {3, 33, 17}, {4, 40, 32}, {2, 131, 131}};

TEST_P(KernelConformance, RmsNorm) {
  for (const NormSize& s : kSizes) {
    const Matrix x = random_matrix(s.rows, s.cols, 1, 3), w = random_matrix(1, s.cols, 2);
    const View y = out(s.rows, s.cols), rstd = out(1, s.rows);
    k().rms_norm(in(x), in(w), y, rstd, kEps);
    expect_close(get(y), slice_norm(x, w), "y");
    for (std::int64_t r = 0; r < s.rows; ++r) {
      EXPECT_NEAR(get(rstd)(0, r), rstd_of(x, r, 0, s.cols), 1e-6);
    }
  }
}

TEST_P(KernelConformance, RmsNormBackward) {
  for (const NormSize& s : kSizes) {
    const Matrix x = random_matrix(s.rows, s.cols, 1, 3), w = random_matrix(1, s.cols, 2);
    const Matrix dy = random_matrix(s.rows, s.cols, 3), before = random_matrix(1, s.cols, 4);
    const Matrix residual = random_matrix(s.rows, s.cols, 5);
    const Matrix dx = numeric_gradient(x, dy, [&](const Matrix& v) { return slice_norm(v, w); });
    const Matrix dw = numeric_gradient(w, dy, [&](const Matrix& v) { return slice_norm(x, v); });
    const View vx = in(x), vw = in(w), vdy = in(dy), rstd = out(1, s.rows);
    k().rms_norm(vx, vw, out(s.rows, s.cols), rstd, kEps);
    const View plain = out(s.rows, s.cols), added = out(s.rows, s.cols);
    const View first = inout(before), second = inout(before);
    k().rms_norm_bwd(vdy, vx, vw, rstd, none(), plain, first);
    k().rms_norm_bwd(vdy, vx, vw, rstd, in(residual), added, second);
    expect_close(get(plain), dx, "dx");
    expect_close(get(added), plus(dx, residual), "dx with the residual's gradient");
    expect_close(get(first), plus(before, dw), "dw");
    EXPECT_EQ(get(first), get(second));
  }
}

TEST_P(KernelConformance, SliceNormAndBackward) {
  for (const NormSize& s : kSizes) {
    const Matrix x = random_matrix(s.rows, s.cols, 1, 3), w = random_matrix(1, s.width, 2);
    const Matrix dy = random_matrix(s.rows, s.width, 3), before = random_matrix(1, s.width, 4);
    const View vx = in(x), vw = in(w), y = out(s.rows, s.width), rstd = out(1, s.rows);
    k().slice_norm(vx, vw, y, rstd, kEps);
    expect_close(get(y), slice_norm(x, w), "y");

    Matrix dx = numeric_gradient(x, dy, [&](const Matrix& v) { return slice_norm(v, w); });
    for (std::int64_t r = 0; r < s.rows; ++r) {
      for (std::int64_t c = s.width; c < s.cols; ++c) dx(r, c) = 42;  // left alone
    }
    const Matrix dw = numeric_gradient(w, dy, [&](const Matrix& v) { return slice_norm(x, v); });
    const View vdx = inout(Matrix(s.rows, s.cols, 42)), vdw = inout(before);
    k().slice_norm_bwd(in(dy), vx, vw, rstd, vdx, vdw);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      for (std::int64_t c = 0; c < s.cols; ++c) {
        EXPECT_NEAR(get(vdx)(r, c), dx(r, c), c < s.width ? 2e-5 * (1 + std::abs(dx(r, c))) : 0);
      }
    }
    expect_close(get(vdw), plus(before, dw), "dw");
  }
}

TEST_P(KernelConformance, HeadNormAndBackward) {
  const AttentionShape shapes[] = {{.heads = 1, .kv_groups = 1, .head_dim = 1},
                                   {.heads = 4, .kv_groups = 2, .head_dim = 5},
                                   {.heads = 3, .kv_groups = 1, .head_dim = 16},
                                   {.heads = 2, .kv_groups = 2, .head_dim = 33}};
  for (const AttentionShape& s : shapes) {
    for (const std::int64_t rows : {0, 1, 3}) {
      const std::int64_t cols = (s.heads + 2 * s.kv_groups) * s.head_dim;
      const Matrix x = random_matrix(rows, cols, 1, 2), dy = random_matrix(rows, cols, 2);
      const Matrix wq = random_matrix(1, s.head_dim, 3), wk = random_matrix(1, s.head_dim, 4);
      const View vx = in(x), vq = in(wq), vk = in(wk), y = out(rows, cols);
      const View rstd = out(rows, s.heads + s.kv_groups);
      k().head_norm(vx, vq, vk, y, rstd, s, kEps);
      expect_close(get(y), head_norm(x, wq, wk, s), "y");

      const auto of_x = [&](const Matrix& v) { return head_norm(v, wq, wk, s); };
      const auto of_q = [&](const Matrix& v) { return head_norm(x, v, wk, s); };
      const auto of_k = [&](const Matrix& v) { return head_norm(x, wq, v, s); };
      const Matrix before = random_matrix(1, s.head_dim, 5);
      const View dx = out(rows, cols), dwq = inout(before), dwk = inout(before);
      k().head_norm_bwd(in(dy), vx, vq, vk, rstd, dx, dwq, dwk, s);
      expect_close(get(dx), numeric_gradient(x, dy, of_x), "dx", 2e-5);
      expect_close(get(dwq), plus(before, numeric_gradient(wq, dy, of_q)), "dwq");
      expect_close(get(dwk), plus(before, numeric_gradient(wk, dy, of_k)), "dwk");
    }
  }
}

}  // namespace
}  // namespace pleat::conformance
