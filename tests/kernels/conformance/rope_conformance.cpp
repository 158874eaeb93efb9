// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions of neighbouring columns and with scaled frequencies.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

TEST_P(KernelConformance, RopeTurnsNeighboursLikeHalvesInAnotherOrder) {
  RopeShape halves{.seq = 5, .heads = 2, .stride = 10, .offset = 2, .dim = 8, .theta = 100};
  RopeShape neighbours = halves;
  neighbours.interleaved = true;
  const Matrix x = random_matrix(10, 20, 1);
  Matrix sorted = x;  // column 2i to i, 2i+1 to i + 4
  const auto place = [](std::int64_t c) { return c / 2 + (c % 2) * 4; };
  for (std::int64_t r = 0; r < 10; ++r) {
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t c = 0; c < 8; ++c) {
        sorted(r, h * 10 + 2 + place(c)) = x(r, h * 10 + 2 + c);
      }
    }
  }
  const View a = inout(x), b = inout(sorted);
  k().rope(a, neighbours, false);
  k().rope(b, halves, false);
  const Matrix got = get(a), want = get(b);
  for (std::int64_t r = 0; r < 10; ++r) {
    EXPECT_EQ(got(r, 0), x(r, 0));
    for (std::int64_t c = 0; c < 8; ++c) EXPECT_EQ(got(r, 12 + c), want(r, 12 + place(c)));
  }
}

// The backward pass of y = m R x is dx = m R^T dy: the magnitude is not divided out.
TEST_P(KernelConformance, RopeScalesFrequencyAndMagnitude) {
  RopeShape s{.seq = 4, .heads = 1, .stride = 4, .dim = 4, .theta = 10000};
  s.scaling = {.rule = RopeRule::linear, .factor = 4, .magnitude = 1.5};
  const Matrix x = random_matrix(4, 4, 1), dy = random_matrix(4, 4, 2);
  const auto turn = [&](const Matrix& m) {
    Matrix y(4, 4);
    for (std::int64_t r = 0; r < 4; ++r) {
      for (std::int64_t i = 0; i < 2; ++i) {
        const double angle = static_cast<double>(r) * std::pow(10000.0, -0.5 * double(i)) / 4;
        y(r, i) = 1.5 * (m(r, i) * std::cos(angle) - m(r, i + 2) * std::sin(angle));
        y(r, i + 2) = 1.5 * (m(r, i + 2) * std::cos(angle) + m(r, i) * std::sin(angle));
      }
    }
    return y;
  };
  const View v = inout(x), d = inout(dy);
  k().rope(v, s, false);
  k().rope(d, s, true);
  expect_close(get(v), turn(x), "y", 1e-6);
  expect_close(get(d), numeric_gradient(x, dy, turn), "dx");
}

}  // namespace
}  // namespace pleat::conformance
