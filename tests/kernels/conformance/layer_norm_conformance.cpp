// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// LayerNorm, biases and learned positions; gradients against finite differences.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

constexpr double kEps = 1e-5;

Matrix layer_norm(const Matrix& x, const Matrix& w) {
  Matrix y(x.rows, x.cols);
  const auto n = static_cast<double>(x.cols);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < x.cols; ++c) mean += x(r, c) / n;
    for (std::int64_t c = 0; c < x.cols; ++c) variance += std::pow(x(r, c) - mean, 2) / n;
    for (std::int64_t c = 0; c < x.cols; ++c) {
      y(r, c) = (x(r, c) - mean) / std::sqrt(variance + kEps) * w(0, c) + w(1, c);
    }
  }
  return y;
}

TEST_P(KernelConformance, LayerNormAndBackward) {
  for (const auto& [rows, cols] : {std::pair{0, 7}, {1, 2}, {3, 17}, {4, 64}, {2, 131}}) {
    const Matrix x = random_matrix(rows, cols, 1, 3), w = random_matrix(2, cols, 2);
    const Matrix dy = random_matrix(rows, cols, 3), before = random_matrix(2, cols, 4);
    const Matrix residual = random_matrix(rows, cols, 5);
    const View vx = in(x), vw = in(w), vdy = in(dy), y = out(rows, cols), rstd = out(1, rows);
    k().layer_norm(vx, vw, y, rstd, kEps);
    expect_close(get(y), layer_norm(x, w), "y");
    const View plain = out(rows, cols), added = out(rows, cols);
    const View first = inout(before), second = inout(before);
    k().layer_norm_bwd(vdy, vx, vw, rstd, none(), plain, first);
    k().layer_norm_bwd(vdy, vx, vw, rstd, in(residual), added, second);
    const Matrix dx = numeric_gradient(x, dy, [&](const Matrix& v) { return layer_norm(v, w); });
    const Matrix dw = numeric_gradient(w, dy, [&](const Matrix& v) { return layer_norm(x, v); });
    expect_close(get(plain), dx, "dx", 2e-5);
    expect_close(get(added), plus(dx, residual), "dx with the residual's gradient", 2e-5);
    expect_close(get(first), plus(before, dw), "dw");
    EXPECT_EQ(get(first), get(second));
  }
}

// A large mean leaves few digits for the variance.
TEST_P(KernelConformance, LayerNormOfValuesFarFromZero) {
  Matrix x = random_matrix(3, 33, 1), w = random_matrix(2, 33, 2);
  for (double& v : x.values) v = std::round(v * 64) / 64 + 1000;
  const View y = out(3, 33);
  k().layer_norm(in(x), in(w), y, out(1, 3), kEps);
  expect_close(get(y), layer_norm(x, w), "y", 1e-3);
}

TEST_P(KernelConformance, BiasIsAddedToEveryRow) {
  for (const auto& [rows, cols] : {std::pair{0, 3}, {1, 1}, {4, 37}}) {
    const Matrix b = random_matrix(1, cols, 1), y = random_matrix(rows, cols, 2);
    Matrix want = y, sums = random_matrix(1, cols, 3);
    const View vy = inout(y), db = inout(sums);
    k().add_bias(in(b), 0.5, vy);
    k().add_bias_bwd(in(y), 0.5, db);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) {
        want(r, c) += 0.5 * b(0, c);
        sums(0, c) += 0.5 * y(r, c);
      }
    }
    expect_close(get(vy), want, "y", 1e-6);
    expect_close(get(db), sums, "db", 1e-6);
  }
}

TEST_P(KernelConformance, PositionsStartAnewInEverySequence) {
  const Matrix w = random_matrix(6, 5, 1), x = random_matrix(8, 5, 2);
  Matrix want = x, sums = random_matrix(6, 5, 3);
  const View vx = inout(x), dw = inout(sums);
  k().add_positions(in(w), 4, 0.25, vx);
  k().add_positions_bwd(in(x), 4, 0.25, dw);
  for (std::int64_t r = 0; r < 8; ++r) {
    for (std::int64_t c = 0; c < 5; ++c) {
      want(r, c) += 0.25 * w(r % 4, c);
      sums(r % 4, c) += 0.25 * x(r, c);
    }
  }
  expect_close(get(vx), want, "x", 1e-6);
  expect_close(get(dw), sums, "dw", 1e-6);
}

}  // namespace
}  // namespace pleat::conformance
