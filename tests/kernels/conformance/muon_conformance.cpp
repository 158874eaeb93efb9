// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon against its definition in double precision, and against what it is for: orthogonal matrices.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

Matrix orthogonalised(Matrix x) {
  double squares = 0;
  for (double v : x.values) squares += v * v;
  for (double& v : x.values) v /= std::max(std::sqrt(squares), 1e-7);
  const bool tall = x.rows > x.cols;
  if (tall) x = transposed(x);
  for (int i = 0; i < 5; ++i) {
    const Matrix y = times(x, transposed(x)), yy = times(y, y);
    Matrix poly = y;
    for (std::size_t e = 0; e < y.values.size(); ++e) {
      poly.values[e] = -4.7750 * y.values[e] + 2.0315 * yy.values[e];
    }
    const Matrix step = times(poly, x);
    for (std::size_t e = 0; e < x.values.size(); ++e) {
      x.values[e] = 3.4445 * x.values[e] + step.values[e];
    }
  }
  return tall ? transposed(x) : x;
}

TEST_P(KernelConformance, NewtonSchulzFollowsItsDefinition) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 9}, {9, 1}, {6, 17}, {17, 6}, {24, 24}}) {
    const Matrix g = random_matrix(rows, columns, 3);
    const View x = inout(g);
    k().newton_schulz(x, out(2, rows * columns));
    expect_close(get(x), orthogonalised(g), "x", 1e-4);
  }
}

// Every singular value comes near 1: X X^T near the identity.
TEST_P(KernelConformance, NewtonSchulzMakesMatricesOrthogonal) {
  const View x = inout(random_matrix(8, 40, 5));
  k().newton_schulz(x, out(2, 8 * 40));
  const Matrix result = get(x), square = times(result, transposed(result));
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) EXPECT_NEAR(square(i, j), i == j ? 1 : 0, 0.45);
  }
}

TEST_P(KernelConformance, NewtonSchulzOfNothingIsNothing) {
  const View x = inout(Matrix(3, 5));
  k().newton_schulz(x, out(2, 15));
  EXPECT_EQ(get(x), Matrix(3, 5));
}

TEST_P(KernelConformance, MuonMomentumFollowsItsDefinition) {
  for (const bool nesterov : {false, true}) {
    for (const std::int64_t n : {0, 1, 37}) {
      Matrix m = random_matrix(1, n, 1), g = random_matrix(1, n, 2);
      const View vm = inout(m), vg = inout(g);
      k().muon_momentum(vg, vm, 0.5, 0.9, nesterov);
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        const double fresh = 0.1 * 0.5 * g.values[i];
        m.values[i] = 0.9 * m.values[i] + fresh;
        g.values[i] = nesterov ? 0.9 * m.values[i] + fresh : m.values[i];
      }
      expect_close(get(vm), m, "m", 1e-6);
      expect_close(get(vg), g, "g", 1e-6);
    }
  }
}

TEST_P(KernelConformance, ScaledStepFollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 37}) {
    const Matrix u = random_matrix(1, n, 1);
    Matrix w = random_matrix(1, n, 2);
    const View vw = inout(w);
    k().scaled_step(in(u), vw, 0.75, 0.5);
    for (std::size_t i = 0; i < w.values.size(); ++i) {
      w.values[i] = 0.75 * w.values[i] - 0.5 * u.values[i];
    }
    expect_close(get(vw), w, "w", 1e-6);
  }
}

}  // namespace
}  // namespace pleat::conformance
