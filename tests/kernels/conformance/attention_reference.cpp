// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/conformance/attention_reference.hpp"

#include <algorithm>
#include <cmath>

namespace pleat::conformance {
namespace {

Matrix scores_of(const Matrix& q, const Matrix& k, double scale) {
  Matrix s = times(q, transposed(k));
  for (double& v : s.values) v *= scale;
  return s;
}

double log_sum_exp(const Matrix& s, std::int64_t row) {
  double max = s(row, 0), sum = 0;
  for (std::int64_t j = 0; j <= row; ++j) max = std::max(max, s(row, j));
  for (std::int64_t j = 0; j <= row; ++j) sum += std::exp(s(row, j) - max);
  return max + std::log(sum);
}

Matrix probabilities(const Matrix& s) {
  Matrix p(s.rows, s.cols);
  for (std::int64_t i = 0; i < s.rows; ++i) {
    const double lse = log_sum_exp(s, i);
    for (std::int64_t j = 0; j <= i; ++j) p(i, j) = std::exp(s(i, j) - lse);
  }
  return p;
}

}  // namespace

HeadOutput attend(const Matrix& q, const Matrix& k, const Matrix& v, double scale) {
  const Matrix s = scores_of(q, k, scale);
  HeadOutput out{times(probabilities(s), v), Matrix(q.rows, 1)};
  for (std::int64_t i = 0; i < q.rows; ++i) out.lse(i, 0) = log_sum_exp(s, i);
  return out;
}

// dV = P^T dO; dP = dO V^T; dS = P (dP - rowsum(P dP)); dQ = scale dS K; dK = scale dS^T Q.
HeadGradient attend_bwd(const Matrix& d_o, const Matrix& q, const Matrix& k, const Matrix& v,
                        double scale) {
  const Matrix p = probabilities(scores_of(q, k, scale)), dp = times(d_o, transposed(v));
  Matrix ds(p.rows, p.cols);
  for (std::int64_t i = 0; i < p.rows; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j <= i; ++j) sum += p(i, j) * dp(i, j);
    for (std::int64_t j = 0; j <= i; ++j) ds(i, j) = scale * p(i, j) * (dp(i, j) - sum);
  }
  return {times(ds, k), times(transposed(ds), q), times(transposed(p), d_o)};
}

Matrix piece(const Matrix& m, std::int64_t first_row, std::int64_t rows, std::int64_t first_col,
             std::int64_t cols) {
  Matrix some(rows, cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) some(r, c) = m(first_row + r, first_col + c);
  }
  return some;
}

void add_piece(Matrix& m, const Matrix& some, std::int64_t first_row, std::int64_t first_col) {
  for (std::int64_t r = 0; r < some.rows; ++r) {
    for (std::int64_t c = 0; c < some.cols; ++c) m(first_row + r, first_col + c) += some(r, c);
  }
}

Matrix beside(const Matrix& left, const Matrix& right) {
  Matrix both(left.rows, left.cols + right.cols);
  add_piece(both, left, 0, 0);
  add_piece(both, right, 0, left.cols);
  return both;
}

}  // namespace pleat::conformance
