// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention and rotary positions. Sequence lengths straddle the block sizes of flash
// kernels (32, 64, 128).
#include <cmath>

#include "tests/kernels/conformance/attention_reference.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

struct Packed {
  Matrix o, lse, dqkv;
};

Packed reference(const Matrix& qkv, const Matrix& d_o, const AttentionShape& s) {
  const std::int64_t d = s.head_dim, dv = s.value_dim(), rows = s.batch * s.seq;
  Packed out{Matrix(rows, s.heads * dv), Matrix(rows, s.heads), Matrix(rows, qkv.cols)};
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t row = b * s.seq, group = h / (s.heads / s.kv_groups);
      const std::int64_t at_k = (s.heads + group) * d,
                         at_v = (s.heads + s.kv_groups) * d + group * dv;
      const Matrix q = piece(qkv, row, s.seq, h * d, d), k = piece(qkv, row, s.seq, at_k, d);
      const Matrix v = piece(qkv, row, s.seq, at_v, dv);
      const HeadOutput head = attend(q, k, v, s.scale);
      add_piece(out.o, head.o, row, h * dv);
      add_piece(out.lse, head.lse, row, h);
      const HeadGradient g = attend_bwd(piece(d_o, row, s.seq, h * dv, dv), q, k, v, s.scale);
      add_piece(out.dqkv, g.dq, row, h * d);
      add_piece(out.dqkv, g.dk, row, at_k);
      add_piece(out.dqkv, g.dv, row, at_v);
    }
  }
  return out;
}

AttentionShape shape(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t groups,
                     std::int64_t d, std::int64_t dv = 0) {
  return {batch, seq, heads, groups, d, 1 / std::sqrt(static_cast<double>(d)), dv};
}
const AttentionShape kShapes[] = {
    shape(0, 4, 2, 1, 4),   shape(2, 0, 2, 1, 4),  shape(1, 1, 1, 1, 1),
    shape(2, 5, 4, 2, 8),   shape(1, 33, 3, 1, 5), shape(3, 32, 2, 2, 7),
    shape(1, 64, 2, 1, 16), shape(1, 65, 6, 3, 3), shape(2, 130, 2, 1, 24),
    shape(2, 37, 4, 2, 6, 9), shape(1, 70, 2, 2, 8, 3)};

TEST_P(KernelConformance, Attention) {
  for (const AttentionShape& s : kShapes) {
    for (const double size : {1.0, 12.0}) {  // 12: scores of tens, softmax near one-hot
      SCOPED_TRACE(::testing::Message() << s.batch << "x" << s.seq << " size " << size);
      const std::int64_t rows = s.batch * s.seq, cols = s.columns();
      const Matrix qkv = random_matrix(rows, cols, 1, size);
      const Matrix d_o = random_matrix(rows, s.heads * s.value_dim(), 2);
      const Packed want = reference(qkv, d_o, s);
      const View x = in(qkv), o = out(rows, s.heads * s.value_dim()), lse = out(rows, s.heads);
      k().attention(x, o, lse, s);
      expect_close(get(o), want.o, "o", 2e-5);
      expect_close(get(lse), want.lse, "lse");
      const View dqkv = out(rows, cols);
      k().attention_bwd(in(d_o), x, o, lse, dqkv, s);
      expect_close(get(dqkv), want.dqkv, "dqkv", 1e-4);
    }
  }
}

TEST(AttentionReference, AgreesWithFiniteDifferences) {
  const Matrix q = random_matrix(6, 3, 1), k = random_matrix(6, 3, 2), v = random_matrix(6, 2, 3);
  const Matrix d_o = random_matrix(6, 2, 4);
  const HeadGradient g = attend_bwd(d_o, q, k, v, 0.7);
  const auto of_q = [&](const Matrix& m) { return attend(m, k, v, 0.7).o; };
  const auto of_k = [&](const Matrix& m) { return attend(q, m, v, 0.7).o; };
  const auto of_v = [&](const Matrix& m) { return attend(q, k, m, 0.7).o; };
  expect_close(g.dq, numeric_gradient(q, d_o, of_q), "dq", 1e-8);
  expect_close(g.dk, numeric_gradient(k, d_o, of_k), "dk", 1e-8);
  expect_close(g.dv, numeric_gradient(v, d_o, of_v), "dv", 1e-8);
}

TEST_P(KernelConformance, RopeTurnsHalfSplitPairsOnly) {
  const RopeShape shapes[] = {
      {.seq = 3, .heads = 1, .stride = 2, .first = 0, .offset = 0, .dim = 2, .theta = 10000},
      {.seq = 4, .heads = 2, .stride = 10, .first = 1, .offset = 3, .dim = 6, .theta = 10000},
      {.seq = 70, .heads = 3, .stride = 16, .first = 0, .offset = 0, .dim = 16, .theta = 5e5},
      {.seq = 2, .heads = 1, .stride = 300, .first = 0, .offset = 4, .dim = 290, .theta = 100}};
  for (const RopeShape& s : shapes) {
    for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{1}, s.seq, 2 * s.seq}) {
      const std::int64_t cols = (s.first + s.heads + 1) * s.stride;
      const Matrix x = random_matrix(rows, cols, 1);
      Matrix want = x;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t h = s.first; h < s.first + s.heads; ++h) {
          for (std::int64_t i = 0; i < s.dim / 2; ++i) {
            const double frequency =
                std::pow(s.theta, -2.0 * static_cast<double>(i) / static_cast<double>(s.dim));
            const double angle = static_cast<double>(r % s.seq) * frequency;
            const std::int64_t low = h * s.stride + s.offset + i, high = low + s.dim / 2;
            want(r, low) = x(r, low) * std::cos(angle) - x(r, high) * std::sin(angle);
            want(r, high) = x(r, high) * std::cos(angle) + x(r, low) * std::sin(angle);
          }
        }
      }
      const View v = inout(x);
      k().rope(v, s, false);
      expect_close(get(v), want, "turned", 1e-6);
      const Matrix turned = get(v);
      for (std::size_t i = 0; i < x.values.size(); ++i) {  // the other columns to the bit
        EXPECT_TRUE(turned.values[i] == x.values[i] || want.values[i] != x.values[i]);
      }
      k().rope(v, s, true);
      expect_close(get(v), x, "turned back", 1e-6);
    }
  }
}

}  // namespace
}  // namespace pleat::conformance
