// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums, gated activations, their gradients, and what saturates: large inputs give no NaN.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

struct Size {
  std::int64_t rows, cols;
};
constexpr Size kSizes[] = {{0, 3}, {1, 1}, {3, 0}, {3, 5}, {2, 16}, {4, 37}, {1, 130}};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Matrix swiglu(const Matrix& u, const Matrix& p) {
  Matrix y(u.rows, u.cols / 2);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    for (std::int64_t c = 0; c < y.cols; ++c) {
      const double gate = u(r, c);
      y(r, c) = gate * sigmoid(gate) * u(r, c + y.cols) * p(0, r);
    }
  }
  return y;
}

Matrix gelu(const Matrix& u) {
  Matrix y = u;
  for (double& x : y.values) {
    x = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return y;
}

Matrix sigmoid_gate(const Matrix& y, const Matrix& gate) {
  Matrix z = y;
  for (std::int64_t r = 0; r < y.rows; ++r) {
    for (std::int64_t c = 0; c < y.cols; ++c) z(r, c) *= sigmoid(gate(r, 0));
  }
  return z;
}

TEST_P(KernelConformance, AddTwoAndThree) {
  for (const Size& s : kSizes) {
    const Matrix a = random_matrix(s.rows, s.cols, 1), b = random_matrix(s.rows, s.cols, 2);
    const Matrix c = random_matrix(s.rows, s.cols, 3);
    const View va = in(a), vb = in(b), two = out(s.rows, s.cols), three = out(s.rows, s.cols);
    k().add(va, vb, none(), two);
    k().add(va, vb, in(c), three);
    expect_close(get(two), plus(a, b), "a+b", 1e-6);
    expect_close(get(three), plus(plus(a, b), c), "a+b+c", 1e-6);
  }
}

TEST_P(KernelConformance, SwigluWithAndWithoutProbability) {
  for (const Size& s : kSizes) {
    const Matrix u = random_matrix(s.rows, 2 * s.cols, 1, 4), p = random_matrix(1, s.rows, 2);
    const Matrix dy = random_matrix(s.rows, s.cols, 3), ones(1, s.rows, 1);
    const View vu = in(u), vp = in(p), vdy = in(dy);
    const View plain = out(s.rows, s.cols), weighted = out(s.rows, s.cols);
    k().swiglu(vu, none(), plain);
    k().swiglu(vu, vp, weighted);
    expect_close(get(plain), swiglu(u, ones), "y");
    expect_close(get(weighted), swiglu(u, p), "y * p");

    const View du = out(s.rows, 2 * s.cols), du_p = out(s.rows, 2 * s.cols), dp = out(1, s.rows);
    k().swiglu_bwd(vdy, vu, none(), du, none());
    k().swiglu_bwd(vdy, vu, vp, du_p, dp);
    expect_close(get(du), numeric_gradient(u, dy, [&](auto& v) { return swiglu(v, ones); }), "du");
    expect_close(get(du_p), numeric_gradient(u, dy, [&](auto& v) { return swiglu(v, p); }),
                 "du with p");
    expect_close(get(dp), numeric_gradient(p, dy, [&](auto& v) { return swiglu(u, v); }), "dp");
  }
}

TEST_P(KernelConformance, Gelu) {
  for (const Size& s : kSizes) {
    const Matrix u = random_matrix(s.rows, s.cols, 1, 4), dy = random_matrix(s.rows, s.cols, 2);
    const View vu = in(u), y = out(s.rows, s.cols), du = out(s.rows, s.cols);
    k().gelu(vu, y);
    k().gelu_bwd(in(dy), vu, du);
    expect_close(get(y), gelu(u), "y");
    expect_close(get(du), numeric_gradient(u, dy, gelu), "du");
  }
}

TEST_P(KernelConformance, SigmoidGate) {
  for (const Size& s : kSizes) {
    const Matrix y = random_matrix(s.rows, s.cols, 1), gate = random_matrix(s.rows, 1, 2, 4);
    const Matrix dz = random_matrix(s.rows, s.cols, 3);
    const View vy = in(y), vg = in(gate), z = out(s.rows, s.cols);
    k().sigmoid_gate(vy, vg, z);
    expect_close(get(z), sigmoid_gate(y, gate), "z");
    const View dy = out(s.rows, s.cols), dgate = out(s.rows, 1);
    k().sigmoid_gate_bwd(in(dz), vy, vg, dy, dgate);
    const auto of_y = [&](const Matrix& v) { return sigmoid_gate(v, gate); };
    const auto of_gate = [&](const Matrix& v) { return sigmoid_gate(y, v); };
    expect_close(get(dy), numeric_gradient(y, dz, of_y), "dy");
    expect_close(get(dgate), numeric_gradient(gate, dz, of_gate), "dgate");
  }
}

TEST_P(KernelConformance, ActivationsSaturate) {
  Matrix u(1, 8);
  u.values = {-1000, -100, -88, -20, 20, 88, 100, 1000};
  Matrix gate_up(8, 2), p(1, 8, 1);
  for (std::int64_t r = 0; r < 8; ++r) {
    gate_up(r, 0) = u(0, r);
    gate_up(r, 1) = 1;
  }
  const View y = out(8, 1), z = out(1, 8), slope = out(1, 8);
  k().swiglu(in(gate_up), in(p), y);
  k().gelu(in(u), z);
  k().gelu_bwd(in(Matrix(1, 8, 1)), in(u), slope);
  expect_close(get(y), swiglu(gate_up, p), "swiglu", 1e-7);
  expect_close(get(z), gelu(u), "gelu", 1e-7);
  for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(get(slope)(0, i), i < 4 ? 0 : 1);
}

TEST_P(KernelConformance, NanIsNotHidden) {
  Matrix u(1, 2, NAN), p(1, 1, 1);
  const View y = out(1, 1), z = out(1, 2);
  k().swiglu(in(u), in(p), y);
  k().gelu(in(u), z);
  EXPECT_TRUE(std::isnan(get(y)(0, 0)));
  EXPECT_TRUE(std::isnan(get(z)(0, 1)));
}

}  // namespace
}  // namespace pleat::conformance
