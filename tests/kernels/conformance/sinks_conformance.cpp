// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention sinks against their definition: one more key in each head, of a given score and no
// value.
#include <cmath>

#include "tests/kernels/conformance/bf16.hpp"

namespace pleat::conformance {
namespace {

constexpr std::int64_t kHeads = 3, kWidth = 5;
using Range = std::int32_t[2];

HeadColumns heads_of(View x) { return {.x = x, .first = 0, .stride = kWidth, .width = kWidth}; }

// Row i sees the keys up to its own.
std::vector<std::int32_t> causal(std::int64_t rows) {
  std::vector<std::int32_t> all;
  for (std::int64_t i = 0; i < rows; ++i)
    all.insert(all.end(), {0, static_cast<std::int32_t>(i + 1)});
  return all;
}

struct SinkValues {
  Matrix o, lse;
};
SinkValues attention(const Matrix& q, const Matrix& keys, const Matrix& values,
                     const Matrix& sinks) {
  SinkValues out{Matrix(q.rows, q.cols), Matrix(q.rows, kHeads)};
  for (std::int64_t i = 0; i < q.rows; ++i) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      double sum = std::exp(sinks(0, h));
      for (std::int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (std::int64_t c = h * kWidth; c < (h + 1) * kWidth; ++c) score += q(i, c) * keys(j, c);
        const double p = std::exp(0.4 * score);
        sum += p;
        for (std::int64_t c = h * kWidth; c < (h + 1) * kWidth; ++c)
          out.o(i, c) += p * values(j, c);
      }
      for (std::int64_t c = h * kWidth; c < (h + 1) * kWidth; ++c) out.o(i, c) /= sum;
      out.lse(i, h) = std::log(sum);
    }
  }
  return out;
}

AttentionPiece piece_of(View q, View keys, View values, const std::vector<std::int32_t>& visible) {
  return {.batch = 1,
          .heads = kHeads,
          .scale = 0.4,
          .q = {heads_of(q), {}},
          .k = {heads_of(keys), {}},
          .v = heads_of(values),
          .visible = reinterpret_cast<const Range*>(visible.data())};
}

TEST_P(KernelConformance, AttentionStartsAtSinks) {
  for (const std::int64_t rows : {1, 6, 45}) {
    const std::int64_t cols = kHeads * kWidth;
    const Matrix q = random_matrix(rows, cols, 1, 2), keys = random_matrix(rows, cols, 2, 2);
    const Matrix values = random_matrix(rows, cols, 3), d_o = random_matrix(rows, cols, 4);
    const Matrix sinks = random_matrix(1, kHeads, 5, 3), before = random_matrix(1, kHeads, 6);
    const std::vector<std::int32_t> visible = causal(rows);
    const View vq = in(q), vk = in(keys), vv = in(values), vs = in(sinks), vd = in(d_o);
    const View o = out(rows, cols), lse = out(rows, kHeads);
    k().start_at_sinks(vs, o, lse);
    EXPECT_EQ(get(o), Matrix(rows, cols));
    EXPECT_EQ(get(lse)(rows - 1, 1), sinks(0, 1));
    k().attention_piece(piece_of(vq, vk, vv, visible), heads_of(o), lse, true);
    const SinkValues want = attention(q, keys, values, sinks);
    expect_close(get(o), want.o, "o", 2e-5);
    expect_close(get(lse), want.lse, "lse");
    const View dsinks = inout(before), dq = inout(Matrix(rows, cols));
    const View dk = inout(Matrix(rows, cols)), dv = inout(Matrix(rows, cols));
    k().sinks_bwd(vd, o, lse, vs, dsinks);
    k().attention_piece_bwd(piece_of(vq, vk, vv, visible), heads_of(vd), heads_of(o), lse,
                            {{heads_of(dq), {}}, {heads_of(dk), {}}, heads_of(dv)});
    const auto slope = [&](const Matrix& x, const std::function<Matrix(const Matrix&)>& f) {
      return numeric_gradient(x, d_o, f);
    };
    expect_close(get(dsinks), plus(before, slope(sinks, [&](const Matrix& s) {
                   return attention(q, keys, values, s).o;
                 })), "dsinks", 1e-4);
    if (rows > 6) continue;  // numeric gradients take a while
    expect_close(get(dq), slope(q, [&](const Matrix& x) {
                   return attention(x, keys, values, sinks).o;
                 }), "dq", 1e-4);
    expect_close(get(dk), slope(keys, [&](const Matrix& x) {
                   return attention(q, x, values, sinks).o;
                 }), "dk", 1e-4);
    expect_close(get(dv), slope(values, [&](const Matrix& x) {
                   return attention(q, keys, x, sinks).o;
                 }), "dv", 1e-4);
  }
}

// A sink far above all scores leaves nothing of o, one far below changes nothing.
TEST_P(KernelConformance, SinksThatTakeAllOrNothing) {
  const Matrix x = random_matrix(4, kHeads * kWidth, 1);
  const std::vector<std::int32_t> visible = causal(4);
  Matrix sinks(1, kHeads, -1000);
  sinks(0, 0) = 1000;
  const View v = in(x), o = out(4, kHeads * kWidth), lse = out(4, kHeads), vs = in(sinks);
  k().start_at_sinks(vs, o, lse);
  k().attention_piece(piece_of(v, v, v, visible), heads_of(o), lse, true);
  const SinkValues want = attention(x, x, x, Matrix(1, kHeads, -1000));
  const Matrix got = get(o);
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < kHeads * kWidth; ++c) {
      EXPECT_NEAR(got(r, c), c < kWidth ? 0 : want.o(r, c), 1e-5);
    }
    EXPECT_EQ(get(lse)(r, 0), 1000);
  }
  const View dsinks = inout(Matrix(1, kHeads));
  k().sinks_bwd(in(x), o, lse, vs, dsinks);
  EXPECT_EQ(get(dsinks), Matrix(1, kHeads));
}

TEST_P(Bf16Conformance, Sinks) {
  const std::vector<std::int32_t> visible = causal(9);
  expect_like_fp32([&](Operands& o) {
    const View q = o.in(9, kHeads * kWidth, 1), v = o.in(9, kHeads * kWidth, 2);
    const View sinks = o.in(1, kHeads, 3), d_o = o.in(9, kHeads * kWidth, 4);
    const View to = o.out(9, kHeads * kWidth), lse = o.fp32_out(9, kHeads);
    const View from = o.in(9, kHeads * kWidth, 5), dsinks = o.inout(1, kHeads, 6);
    k().start_at_sinks(sinks, to, lse);
    k().attention_piece(piece_of(q, v, v, visible), heads_of(to), lse, true);
    k().sinks_bwd(d_o, from, lse, sinks, dsinks);
    o.result(to, "o"), o.result(lse, "lse"), o.result(dsinks, "dsinks");
  });
}

}  // namespace
}  // namespace pleat::conformance
