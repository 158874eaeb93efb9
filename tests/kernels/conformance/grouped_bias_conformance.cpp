// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Biases of experts and their gradients: groups of no, one and many rows, with and without a
// probability a row.
#include "tests/kernels/conformance/bf16.hpp"

namespace pleat::conformance {
namespace {

const std::vector<std::vector<std::int32_t>>& all_counts() {
  static const std::vector<std::vector<std::int32_t>> all{
      {0}, {1}, {3, 0, 2}, {0, 0, 7}, {1, 300, 0, 5}, std::vector<std::int32_t>(70, 1)};
  return all;
}

struct Case {
  std::vector<std::int32_t> counts;
  std::vector<std::int64_t> group_of;  // of each row
  [[nodiscard]] std::int64_t rows() const { return std::ssize(group_of); }
  [[nodiscard]] std::int64_t groups() const { return std::ssize(counts); }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& counts : all_counts()) {
    Case c{counts, {}};
    for (std::size_t g = 0; g < counts.size(); ++g) {
      c.group_of.insert(c.group_of.end(), static_cast<std::size_t>(counts[g]),
                        static_cast<std::int64_t>(g));
    }
    all.push_back(c);
  }
  return all;
}

TEST_P(KernelConformance, BiasesOfExperts) {
  for (const Case& c : cases()) {
    for (const std::int64_t cols : {1, 7, 64}) {
      SCOPED_TRACE(::testing::Message() << c.groups() << " groups, " << c.rows() << " rows");
      const Matrix b = random_matrix(c.groups(), cols, 1), y = random_matrix(c.rows(), cols, 2);
      const Matrix p = random_matrix(1, c.rows(), 3), dy = random_matrix(c.rows(), cols, 4);
      const Matrix before = random_matrix(c.groups(), cols, 5);
      Matrix plain = y, weighted = y, db = before, db_weighted = before, dp(1, c.rows());
      for (std::int64_t r = 0; r < c.rows(); ++r) {
        const std::int64_t g = c.group_of[static_cast<std::size_t>(r)];
        for (std::int64_t i = 0; i < cols; ++i) {
          plain(r, i) += 0.5 * b(g, i);
          weighted(r, i) += 0.5 * p(0, r) * b(g, i);
          db(g, i) += dy(r, i);
          db_weighted(g, i) += p(0, r) * dy(r, i);
          dp(0, r) += 0.5 * dy(r, i) * b(g, i);
        }
      }
      const View vb = in(b), vp = in(p), vdy = in(dy), counts = in_i32(c.counts, 1, c.groups());
      const View v1 = inout(y), v2 = inout(y), v3 = inout(before), v4 = inout(before);
      const View v5 = out(1, c.rows());
      k().grouped_bias(vb, counts, none(), 0.5, v1);
      k().grouped_bias(vb, counts, vp, 0.5, v2);
      k().grouped_bias_bwd(vdy, counts, none(), v3);
      k().grouped_bias_bwd(vdy, counts, vp, v4);
      k().grouped_bias_probs(vdy, vb, counts, 0.5, v5);
      expect_close(get(v1), plain, "y", 1e-6);
      expect_close(get(v2), weighted, "weighted y", 1e-6);
      expect_close(get(v3), db, "db");
      expect_close(get(v4), db_weighted, "weighted db");
      expect_close(get(v5), dp, "dp");
    }
  }
}

// Gradients may come in codes, here of numbers that codes hold.
TEST_P(KernelConformance, BiasGradientsReadCodes) {
  constexpr std::int64_t kRows = 9, kCols = 48;
  Matrix dy(kRows, kCols), db(2, kCols), sum(1, kCols), dp(1, kRows);
  const Matrix b = random_matrix(2, kCols, 1);
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kCols; ++c) {
      dy(r, c) = static_cast<double>((r * 7 + c * 3) % 5 - 2);
      db(r < 4 ? 0 : 1, c) += dy(r, c);
      sum(0, c) += dy(r, c);
      dp(0, r) += dy(r, c) * b(r < 4 ? 0 : 1, c);
    }
  }
  const View codes = out_codes(DType::mxfp8, kRows, kCols), counts = in_i32({4, 5}, 1, 2);
  k().quantize(in(dy), none(), codes, {.rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32});
  const View v1 = inout(Matrix(2, kCols)), v2 = inout(Matrix(1, kCols)), v3 = out(1, kRows);
  k().grouped_bias_bwd(codes, counts, none(), v1);
  k().add_bias_bwd(codes, 1, v2);
  k().grouped_bias_probs(codes, in(b), counts, 1, v3);
  expect_close(get(v1), db, "db of groups", 1e-6);
  expect_close(get(v2), sum, "db", 1e-6);
  expect_close(get(v3), dp, "dp", 1e-6);
}

TEST_P(Bf16Conformance, BiasesOfExperts) {
  for (const Case& c : cases()) {
    if (c.rows() == 0) continue;
    for (const std::int64_t cols : {7, 136}) {
      expect_like_fp32([&](Operands& o) {
        const View b = o.in(c.groups(), cols, 1), y = o.inout(c.rows(), cols, 2);
        const View p = o.fp32(1, c.rows(), 3), dy = o.in(c.rows(), cols, 4);
        const View db = o.inout(c.groups(), cols, 5), dp = o.fp32_out(1, c.rows());
        const View counts = o.i32(c.counts);
        k().grouped_bias(b, counts, p, 0.5, y);
        k().grouped_bias_bwd(dy, counts, p, db);
        k().grouped_bias_probs(dy, b, counts, 0.5, dp);
        o.result(y, "y"), o.result(db, "db"), o.result(dp, "dp");
      });
    }
  }
}

}  // namespace
}  // namespace pleat::conformance
