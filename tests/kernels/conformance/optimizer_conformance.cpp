// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The step: AdamW against its definition over several steps, norms, clearing and copying.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

TEST_P(KernelConformance, AdamWFollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 37, 256}) {
    AdamW a{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 1};
    Matrix w = random_matrix(1, n, 1), m(1, n), v(1, n);
    const View vw = inout(w), vm = inout(m), vv = inout(v);
    for (; a.step <= 5; ++a.step) {
      const Matrix g = random_matrix(1, n, 10 + static_cast<int>(a.step));
      const double scale = 0.5;
      k().adamw(in(g), vm, vv, vw, scale, a);
      const auto step = static_cast<double>(a.step);
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        const double d = g.values[i] * scale;
        m.values[i] = a.beta1 * m.values[i] + (1 - a.beta1) * d;
        v.values[i] = a.beta2 * v.values[i] + (1 - a.beta2) * d * d;
        const double mean = m.values[i] / (1 - std::pow(a.beta1, step));
        const double root = std::sqrt(v.values[i] / (1 - std::pow(a.beta2, step)));
        w.values[i] -= a.lr * (mean / (root + a.eps) + a.weight_decay * w.values[i]);
      }
    }
    expect_close(get(vm), m, "m", 1e-6);
    expect_close(get(vv), v, "v", 1e-6);
    expect_close(get(vw), w, "w", 1e-6);
  }
}

TEST_P(KernelConformance, AdamWLeavesWeightsWithoutGradient) {
  const Matrix w = random_matrix(1, 5, 1), zero(1, 5);
  const View vw = inout(w);
  k().adamw(in(zero), inout(zero), inout(zero), vw, 1, AdamW{});
  EXPECT_EQ(get(vw), w);
}

TEST_P(KernelConformance, SgdFollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 37, 256}) {
    const Sgd s{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1};
    Matrix w = random_matrix(1, n, 1), m(1, n);
    const View vw = inout(w), vm = inout(m);
    for (int step = 1; step <= 5; ++step) {
      const Matrix g = random_matrix(1, n, 10 + step);
      k().sgd(in(g), vm, vw, 0.5, s);
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        m.values[i] = 0.9 * m.values[i] + (0.5 * g.values[i] + 0.1 * w.values[i]);
        w.values[i] -= 0.01 * m.values[i];
      }
    }
    expect_close(get(vm), m, "m", 1e-6);
    expect_close(get(vw), w, "w", 1e-6);
  }
}

TEST_P(KernelConformance, SumOfSquaresInDoubles) {
  EXPECT_EQ(k().sum_of_squares(in(Matrix(1, 0))), 0);
  Matrix x(1, 1001, 0.0625);
  x(0, 500) = 1e4;  // 1e8 + 1000 / 256: single precision, 8 apart there, loses the small ones
  EXPECT_EQ(k().sum_of_squares(in(x)), 1e8 + 1000.0 / 256);
}

TEST_P(KernelConformance, ZeroAndCopy) {
  for (const std::int64_t n : {0, 1, 19}) {
    const Matrix x = random_matrix(1, n, 1);
    const View zeroed = out(1, n), copied = out(1, n), whole = out_i32(1, n);
    k().zero(zeroed);
    k().zero(whole);
    k().copy(in(x), copied);
    EXPECT_EQ(get(zeroed), Matrix(1, n));
    EXPECT_EQ(get_i32(whole), std::vector<std::int32_t>(static_cast<std::size_t>(n), 0));
    EXPECT_EQ(get(copied), x);
  }
}

}  // namespace
}  // namespace pleat::conformance
