// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The functions of core/elementwise.hpp and the joining of columns.
#include <algorithm>
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// b: a probability for each row, or the gate; empty where there is none.
Matrix apply(Elementwise f, const Matrix& a, const Matrix& b) {
  Matrix y(a.rows, reads_gate_and_up(f) ? a.cols / 2 : a.cols);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    for (std::int64_t c = 0; c < y.cols; ++c) {
      const double x = a(r, c), p = b.values.empty() ? 1 : b.values[static_cast<std::size_t>(r)];
      const double up = reads_gate_and_up(f) ? a(r, c + y.cols) : 0;
      if (f == Elementwise::gelu) y(r, c) = gelu(x) * p;
      if (f == Elementwise::gated_gelu) y(r, c) = gelu(x) * up * p;
      if (f == Elementwise::gated_relu_squared) y(r, c) = x > 0 ? x * x * up * p : 0;
      if (f == Elementwise::clamped_swiglu) {
        const double g = std::min(x, 7.0), u = std::clamp(up, -7.0, 7.0);
        y(r, c) = g / (1 + std::exp(-1.702 * g)) * (u + 1) * p;
      }
      if (f == Elementwise::relu_squared) y(r, c) = x > 0 ? x * x * p : 0;
      if (f == Elementwise::sigmoid_gate) y(r, c) = x / (1 + std::exp(-b(r, c)));
    }
  }
  return y;
}

TEST_P(KernelConformance, PointwiseFunctions) {
  for (const auto& [rows, cols] : {std::pair{0, 3}, {1, 1}, {3, 37}, {5, 16}}) {
    for (const Elementwise f :
         {Elementwise::gelu, Elementwise::gated_gelu, Elementwise::relu_squared,
          Elementwise::gated_relu_squared, Elementwise::clamped_swiglu,
          Elementwise::sigmoid_gate}) {
      const bool gate = f == Elementwise::sigmoid_gate;
      const std::int64_t wide = reads_gate_and_up(f) ? 2 * cols : cols;
      // Clamps have to clamp some.
      const double range = f == Elementwise::clamped_swiglu ? 9 : 3;
      const Matrix a = random_matrix(rows, wide, 1, range), dy = random_matrix(rows, cols, 3);
      for (const bool second : {false, true}) {
        if (gate && !second) continue;
        const Matrix b = !second ? Matrix() : random_matrix(rows, gate ? cols : 1, 2, 2);
        const View va = in(a), vb = second ? in(b) : none(), y = out(rows, cols);
        k().pointwise(f, va, vb, y);
        expect_close(get(y), apply(f, a, b), "y");
        const View da = out(rows, wide), db = second ? out(b.rows, b.cols) : none();
        k().pointwise_bwd(f, in(dy), va, vb, da, db);
        const auto of_a = [&](const Matrix& v) { return apply(f, v, b); };
        const auto of_b = [&](const Matrix& v) { return apply(f, a, v); };
        expect_close(get(da), numeric_gradient(a, dy, of_a), "da", 2e-5);
        if (second) expect_close(get(db), numeric_gradient(b, dy, of_b), "db", 2e-5);
      }
    }
  }
}

TEST_P(KernelConformance, ColumnsAreJoinedAndPartedAgain) {
  const Matrix a = random_matrix(3, 4, 1), b = random_matrix(3, 2, 2);
  const View y = out(3, 6), da = out(3, 4), db = out(3, 2);
  k().concat_columns(in(a), in(b), y);
  EXPECT_EQ(get(y)(1, 3), a(1, 3));
  EXPECT_EQ(get(y)(1, 4), b(1, 0));
  k().concat_columns_bwd(y, da, db);
  EXPECT_EQ(get(da), a);
  EXPECT_EQ(get(db), b);
}

}  // namespace
}  // namespace pleat::conformance
