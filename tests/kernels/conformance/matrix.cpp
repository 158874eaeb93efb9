// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/conformance/matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace pleat::conformance {

Matrix random_matrix(std::int64_t rows, std::int64_t cols, int seed, double size) {
  std::mt19937 generator(static_cast<unsigned>(seed) + 1U);
  Matrix out(rows, cols);
  for (double& v : out.values) {
    const double unit = static_cast<double>(generator()) / 4294967295.0;
    v = static_cast<float>((2 * unit - 1) * size);
  }
  return out;
}

Matrix plus(const Matrix& a, const Matrix& b) {
  EXPECT_TRUE(a.rows == b.rows && a.cols == b.cols);
  Matrix out = a;
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] += b.values[i];
  return out;
}

Matrix times(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.cols, b.rows);
  Matrix out(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.cols; ++k) {
      for (std::int64_t j = 0; j < b.cols; ++j) out(i, j) += a(i, k) * b(k, j);
    }
  }
  return out;
}

Matrix transposed(const Matrix& a) {
  Matrix out(a.cols, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.cols; ++j) out(j, i) = a(i, j);
  }
  return out;
}

void expect_close(const Matrix& got, const Matrix& want, const char* what, double tolerance) {
  ASSERT_EQ(got.values.size(), want.values.size()) << what;
  double scale = 0.1;
  for (const double v : want.values) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    const double difference = std::abs(got.values[i] - want.values[i]);
    ASSERT_TRUE(difference <= tolerance * scale)
        << what << "[" << i << "] of " << want.rows << "x" << want.cols << " is " << got.values[i]
        << ", the reference says " << want.values[i];
  }
}

Matrix numeric_gradient(const Matrix& x, const Matrix& d_out,
                        const std::function<Matrix(const Matrix&)>& f) {
  const auto inner = [&](const Matrix& at) {
    const Matrix out = f(at);
    double sum = 0;
    for (std::size_t i = 0; i < out.values.size(); ++i) sum += out.values[i] * d_out.values[i];
    return sum;
  };
  constexpr double kStep = 1e-5;
  Matrix gradient(x.rows, x.cols), at = x;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    at.values[i] = x.values[i] + kStep;
    const double above = inner(at);
    at.values[i] = x.values[i] - kStep;
    gradient.values[i] = (above - inner(at)) / (2 * kStep);
    at.values[i] = x.values[i];
  }
  return gradient;
}

}  // namespace pleat::conformance
