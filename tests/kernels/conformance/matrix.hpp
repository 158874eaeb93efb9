// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrices of doubles for the reference side, random ones whose values a float holds exactly, their
// comparison, and the central finite difference that gradients are held against.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace pleat::conformance {

struct Matrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c, double fill = 0)
      : rows(r), cols(c), values(static_cast<std::size_t>(r * c), fill) {}
  double& operator()(std::int64_t r, std::int64_t c) {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
  double operator()(std::int64_t r, std::int64_t c) const {
    return values[static_cast<std::size_t>(r * cols + c)];
  }
  bool operator==(const Matrix&) const = default;
};

// Uniform in [-1, 1] * size, the same for the same seed.
[[nodiscard]] Matrix random_matrix(std::int64_t rows, std::int64_t cols, int seed, double size = 1);
[[nodiscard]] Matrix plus(const Matrix& a, const Matrix& b);
[[nodiscard]] Matrix times(const Matrix& a, const Matrix& b);  // matrix product
[[nodiscard]] Matrix transposed(const Matrix& a);

// Every |got - want| <= tolerance * max(largest |want|, 0.1); a NaN anywhere fails.
void expect_close(const Matrix& got, const Matrix& want, const char* what, double tolerance = 1e-5);

// Gradient with respect to x of the sum over elements of d_out * f(x).
[[nodiscard]] Matrix numeric_gradient(const Matrix& x, const Matrix& d_out,
                                      const std::function<Matrix(const Matrix&)>& f);

}  // namespace pleat::conformance
