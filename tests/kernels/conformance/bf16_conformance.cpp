// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operands in bf16: results are those of fp32 operands with the same values, rounded once. The
// tolerance is Transformer Engine's for bf16.
#include <cmath>
#include <limits>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

// Random bf16 numbers.
Matrix narrow(std::int64_t rows, std::int64_t cols, int seed, double size = 1) {
  Matrix m = random_matrix(rows, cols, seed, size);
  for (double& v : m.values) v = to_float(to_bf16(static_cast<float>(v)));
  return m;
}

constexpr double kEps = 1e-5;
// Libraries round probabilities and the gradients of scores to bf16 between their products, by 2^-9
// at most of what these are multiplied with, and once more each piece that is joined with another.
constexpr double kBetweenProducts = 3 * 0x1p-9;

TEST_P(KernelConformance, Bf16CopyRoundsToNearestEven) {
  const double inf = std::numeric_limits<double>::infinity();
  // What is between two bf16 numbers, and the one it becomes. Those near 1 are 2^-7 apart.
  const std::vector<std::pair<double, double>> cases{
      {1.0, 1.0},
      {1 + 0x1p-8, 1.0},                   // ties to the even one below
      {1 + 3 * 0x1p-8, 1 + 0x1p-6},        // ties to the even one above
      {1 + 0x1p-8 + 0x1p-23, 1 + 0x1p-7},  // just above a tie
      {-(1 + 3 * 0x1p-8) + 0x1p-23, -(1 + 0x1p-7)},
      {0x1.fep127, 0x1.fep127},  // the largest
      {0x1.ffp127, inf},         // half a step above it
      {0x1.fefffep127, 0x1.fep127},
      {0x1p-133, 0x1p-133},  // the least subnormal
      {0x1p-134, 0.0},
      {0x1.8p-133, 0x1p-132},
      {-0.0, -0.0},
      {-inf, -inf}};
  Matrix x(1, static_cast<std::int64_t>(cases.size()) + 1), want = x;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    x.values[i] = cases[i].first;
    want.values[i] = cases[i].second;
  }
  x.values.back() = std::numeric_limits<double>::quiet_NaN();
  set_floats(DType::bf16);
  const View y = out(1, x.cols);
  k().copy(in_f32(x), y);
  const View back = out_f32(1, x.cols);
  k().copy(y, back);
  const Matrix got = get(y), wide = get(back);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(got.values[i], want.values[i]) << cases[i].first;
    EXPECT_EQ(std::signbit(got.values[i]), std::signbit(want.values[i])) << cases[i].first;
    EXPECT_EQ(wide.values[i], want.values[i]);
  }
  EXPECT_TRUE(std::isnan(got.values.back()) && std::isnan(wide.values.back()));
}

constexpr double kRoundedProduct = 1.0 / 256;  // of the largest result

TEST_P(KernelConformance, Bf16Products) {
  for (const std::int64_t rows : {0, 1, 5, 33}) {
    const Matrix a = narrow(rows, 40, 1), b = narrow(24, 40, 2), d = narrow(rows, 24, 3);
    const Matrix start = narrow(24, 40, 4);
    expect_same_in_bf16([&] {
      const View y = out(rows, 24), dx = out(rows, 40), wide = inout_f32(start);
      k().gemm(in(a), false, in(b), true, y, false);
      k().gemm(in(d), false, in(b), false, dx, false);
      k().gemm(in(d), true, in(a), false, wide, true);  // main gradients in fp32
      const View logits = out_f32(rows, 24);
      k().gemm(in(a), false, in(b), true, logits, false);
      return std::vector{y, dx, wide, logits};
    });
    // In bf16 a library may round the product before it adds it, as some of cuBLASLt's kernels do.
    expect_same_in_bf16([&] {
      const View tight = inout(start);
      k().gemm(in(d), true, in(a), false, tight, true);
      return std::vector{tight};
    }, kRoundedProduct);
  }
}

// Sums are in fp32: 256 + 512 halves is 512, where bf16 would stay at 256.
TEST_P(KernelConformance, Bf16ProductsAddInFp32) {
  Matrix a(1, 513, 0.5), b(1, 513, 1);
  a(0, 0) = 256;
  set_floats(DType::bf16);
  const View y = out(1, 1);
  k().gemm(in(a), false, in(b), true, y, false);
  EXPECT_EQ(get(y)(0, 0), 512);
}

TEST_P(KernelConformance, Bf16GroupedProducts) {
  const std::vector<std::int32_t> counts{3, 0, 4};
  const Matrix x = narrow(7, 16, 1), w = narrow(3 * 10, 16, 2), d = narrow(7, 10, 3);
  const Matrix start = narrow(3 * 10, 16, 4);
  expect_same_in_bf16([&] {
    const View n = in_i32(counts, 1, 3), y = out(7, 10), dx = out(7, 16);
    const View wide = inout_f32(start), tight = inout(start);
    k().grouped_gemm(in(x), in(w), true, n, y);
    k().grouped_gemm(in(d), in(w), false, n, dx);
    k().grouped_wgrad(in(d), in(x), n, wide, true);
    k().grouped_wgrad(in(d), in(x), n, tight, true);
    return std::vector{y, dx, wide, tight};
  });
}

// A group without rows has a gradient of zero where nothing is added to, whatever was there; widths
// as tensor cores want them.
TEST_P(KernelConformance, Bf16GroupedGradientsOfEmptyGroups) {
  for (const std::vector<std::int32_t>& counts :
       {std::vector<std::int32_t>{0, 37, 0, 5}, std::vector<std::int32_t>{0, 0, 0, 0}}) {
    const std::int64_t rows = counts[1] + counts[3];
    const Matrix x = narrow(rows, 48, 1), d = narrow(rows, 64, 2);
    expect_same_in_bf16([&] {
      const View n = in_i32(counts, 1, 4), wide = out_f32(4 * 64, 48), tight = out(4 * 64, 48);
      k().grouped_wgrad(in(d), in(x), n, wide, false);
      k().grouped_wgrad(in(d), in(x), n, tight, false);
      const Matrix got = get(wide);
      for (std::int64_t i = 0; i < 64 * 48; ++i) {
        EXPECT_EQ(got.values[static_cast<std::size_t>(i)], 0) << i;  // of group 0
      }
      return std::vector{wide, tight};
    });
  }
}

TEST_P(KernelConformance, Bf16Norms) {
  const Matrix x = narrow(5, 32, 1, 3), dy = narrow(5, 32, 2), w = narrow(1, 32, 3);
  const Matrix shifted = narrow(2, 32, 4), residual = narrow(5, 32, 5), dw0 = narrow(1, 32, 6);
  expect_same_in_bf16([&] {
    const View rstd = out_f32(1, 5), y = out(5, 32), dx = out(5, 32), dw = inout_f32(dw0);
    k().rms_norm(in(x), in(w), y, rstd, kEps);
    k().rms_norm_bwd(in(dy), in(x), in(w), rstd, in(residual), dx, dw);
    const View tight = inout(dw0), dx2 = out(5, 32);
    k().rms_norm_bwd(in(dy), in(x), in(w), rstd, none(), dx2, tight);
    const View ly = out(5, 32), lr = out_f32(1, 5), ldx = out(5, 32), ldw = inout_f32(shifted);
    k().layer_norm(in(x), in(shifted), ly, lr, kEps);
    k().layer_norm_bwd(in(dy), in(x), in(shifted), lr, in(residual), ldx, ldw);
    return std::vector{rstd, y, dx, dw, tight, dx2, ly, lr, ldx, ldw};
  });
  const Matrix w8 = narrow(1, 8, 7), dy8 = narrow(5, 8, 8);
  const AttentionShape heads{.heads = 2, .kv_groups = 1, .head_dim = 8};
  expect_same_in_bf16([&] {
    // The other columns of dx stay.
    const View rstd = out_f32(1, 5), y = out(5, 8), dx = inout(dy), dw = inout_f32(w8);
    k().slice_norm(in(x), in(w8), y, rstd, kEps);
    k().slice_norm_bwd(in(dy8), in(x), in(w8), rstd, dx, dw);
    const View hr = out_f32(5, 3), hy = out(5, 32), hdx = out(5, 32);
    const View dwq = inout_f32(w8), dwk = inout_f32(w8);
    k().head_norm(in(x), in(w8), in(w8), hy, hr, heads, kEps);
    k().head_norm_bwd(in(dy), in(x), in(w8), in(w8), hr, hdx, dwq, dwk, heads);
    return std::vector{rstd, y, dx, dw, hr, hy, hdx, dwq, dwk};
  });
}

// Rows of every number of columns that is computed in its own way; more rows than blocks run at
// once in emulation, so that each has several in turn, the last ones not all.
TEST_P(KernelConformance, Bf16GradientsOfManyNorms) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{587, 64}, {301, 256},
                                  {190, 1024}, {31, 2048}, {31, 3000}, {31, 4096}, {22, 8192}}) {
    SCOPED_TRACE(cols);
    const Matrix x = narrow(rows, cols, 1, 3), dy = narrow(rows, cols, 2), w = narrow(1, cols, 3);
    const Matrix residual = narrow(rows, cols, 4);
    expect_same_in_bf16([&] {
      const View rstd = out_f32(1, rows), y = out(rows, cols), dx = out(rows, cols);
      const View dx2 = out(rows, cols), dw = inout_f32(w), dw2 = inout_f32(w);
      k().rms_norm(in(x), in(w), y, rstd, kEps);
      k().rms_norm_bwd(in(dy), in(x), in(w), rstd, in(residual), dx, dw);
      k().rms_norm_bwd(in(dy), in(x), in(w), rstd, none(), dx2, dw2);
      return std::vector{rstd, y, dx, dw, dx2, dw2};
    });
  }
}

TEST_P(KernelConformance, Bf16Attention) {
  const AttentionShape s{2, 9, 4, 2, 8, 0.4};
  const Matrix qkv = narrow(18, 64, 1), d_o = narrow(18, 32, 2);
  const MlaShape m{
      .batch = 2, .seq = 9, .heads = 2, .nope = 16, .rope = 8, .v = 8, .kv_lora = 8, .scale = 0.3};
  const Matrix q = narrow(18, 48, 3), kv = narrow(18, 48, 4), kpe = narrow(18, 16, 5);
  const Matrix d_v = narrow(18, 16, 6), o = narrow(18, 32, 7), ov = narrow(18, 16, 8);
  expect_same_in_bf16([&] {
    const View vo = out(18, 32), lse = out_f32(18, 4), dqkv = out(18, 64);
    k().attention(in(qkv), vo, lse, s);
    k().attention_bwd(in(d_o), in(qkv), in(o), lse, dqkv, s);
    const View mo = out(18, 16), mlse = out_f32(18, 2);
    const View dq = out(18, 48), dkv = out(18, 48), dkpe = inout(kpe);
    k().mla_attention(in(q), in(kv), in(kpe), mo, mlse, m);
    k().mla_attention_bwd(in(d_v), in(q), in(kv), in(kpe), in(ov), mlse, dq, dkv, dkpe, m);
    return std::vector{vo, lse, dqkv, mo, mlse, dq, dkv, dkpe};
  }, kBetweenProducts);
}

TEST_P(KernelConformance, Bf16Rope) {
  const Matrix qkv = narrow(18, 64, 1);
  expect_same_in_bf16([&] {
    const View turned = inout(qkv);
    k().rope(turned, {.seq = 9, .heads = 6, .stride = 8, .dim = 8}, false);
    return std::vector{turned};
  });
}

// Operands and gradients that share a tensor; a piece alone, and one that goes on from others.
TEST_P(KernelConformance, Bf16AttentionOverPieces) {
  const Matrix q = narrow(4, 24, 1), d_o = narrow(4, 8, 2), more = narrow(4, 16, 3),
               so_far = narrow(4, 8, 4);
  std::vector<std::int32_t> visible;
  for (std::int32_t i = 0; i < 4; ++i) visible.insert(visible.end(), {0, i + 1});
  const auto* ranges = reinterpret_cast<const std::int32_t(*)[2]>(visible.data());
  expect_same_in_bf16([&] {
    const View x = in(q), y = in(more), o = inout(Matrix(4, 8)), lse = out_f32(4, 1);
    const View longer = inout(so_far), sums = inout_f32(Matrix(4, 1, 0.5));
    const auto piece = [&](View keys, std::int64_t first) {
      return AttentionPiece{.batch = 1,
                            .heads = 1,
                            .scale = 0.5,
                            .q = {{x, 0, 8, 8}, {}},
                            .k = {{keys, first, 8, 8}, {}},
                            .v = {keys, first + 8, 8, 8},
                            .visible = ranges};
    };
    k().attention_piece(piece(x, 8), {o, 0, 8, 8}, lse, false);
    k().attention_piece(piece(y, 0), {longer, 0, 8, 8}, sums, true);
    const HeadColumns g{in(d_o), 0, 8, 8}, whole{in(so_far), 0, 8, 8};
    const View dx = inout(q), dq = inout(q), dy = inout(more);
    k().attention_piece_bwd(
        piece(x, 8), g, whole, lse,
        {.dq = {{dx, 0, 8, 8}, {}}, .dk = {{dx, 8, 8, 8}, {}}, .dv = {dx, 16, 8, 8}});
    k().attention_piece_bwd(
        piece(y, 0), g, whole, sums,
        {.dq = {{dq, 0, 8, 8}, {}}, .dk = {{dy, 0, 8, 8}, {}}, .dv = {dy, 8, 8, 8}});
    return std::vector{o, lse, longer, sums, dx, dq, dy};
  }, kBetweenProducts);
}

TEST_P(KernelConformance, Bf16Elementwise) {
  const Matrix u = narrow(5, 24, 1, 4), half = narrow(5, 12, 2), p = random_matrix(1, 5, 3);
  const Matrix other = narrow(5, 24, 4), b = narrow(1, 24, 5), table = narrow(3, 24, 6);
  expect_same_in_bf16([&] {
    const View vp = in_f32(p), dp = out_f32(1, 5);
    const View sum = inout(u), act = out(5, 12), plain = out(5, 12), du = out(5, 24),
               du2 = out(5, 24);
    k().add(sum, in(other), none(), sum);
    k().swiglu(in(u), vp, act);
    k().swiglu(in(u), none(), plain);
    k().swiglu_bwd(in(half), in(u), vp, du, dp);
    k().swiglu_bwd(in(half), in(u), none(), du2, none());
    const View gelu = out(5, 24), dg = out(5, 24), gated = out(5, 12), dgated = out(5, 24);
    k().gelu(in(u), gelu);
    k().gelu_bwd(in(other), in(u), dg);
    k().pointwise(Elementwise::gated_gelu, in(u), none(), gated);
    k().pointwise_bwd(Elementwise::gated_gelu, in(half), in(u), none(), dgated, none());
    const View z = out(5, 24), dy = out(5, 24), dgate = out(5, 1), gate = in(narrow(5, 1, 7));
    k().sigmoid_gate(in(u), gate, z);
    k().sigmoid_gate_bwd(in(other), in(u), gate, dy, dgate);
    const View biased = inout(u), db = inout_f32(b), placed = inout(u), dt = inout_f32(table);
    k().add_bias(in(b), 0.5, biased);
    k().add_bias_bwd(in(u), 0.5, db);
    k().add_positions(in(table), 3, 1, placed);
    k().add_positions_bwd(in(u), 3, 1, dt);
    return std::vector{sum,    act, plain, du,    du2,    dp, gelu,   dg, gated,
                       dgated, z,   dy,    dgate, biased, db, placed, dt};
  });
}

TEST_P(KernelConformance, Bf16RowsMove) {
  const Matrix x = narrow(3, 8, 1), table = narrow(6, 8, 2), p = random_matrix(3, 2, 3);
  const std::vector<std::int32_t> experts{0, 1, 1, 0, 1, 2}, counts{2, 3, 1};
  expect_same_in_bf16([&] {
    const View rows = out(6, 8), probs = out_f32(1, 6), map = out_i32(3, 2);
    k().permute(in(x), in_f32(p), in_i32(experts, 3, 2), in_i32(counts, 1, 3), 0, rows, probs, map);
    const View y = out(3, 8), spread = out(6, 8), dx = inout(x), dprobs = out_f32(3, 2);
    k().unpermute(in(table), map, y);
    k().unpermute_bwd(in(x), map, spread);
    k().permute_bwd(in(table), in_f32(random_matrix(1, 6, 4)), map, dx, dprobs, true);
    const View all = in_i32({1, 2, 2, 1}, 2, 2), sorted = out(6, 8), back = out(6, 8);
    k().sort_chunks(in(table), all, {0, 2, 1}, sorted);
    k().unsort_chunks(in(table), all, {0, 2, 1}, back);
    const View token = in_i32({1, 9, 4}, 1, 3), found = out(3, 8), dw = inout_f32(table);
    k().embedding(token, in(table), 0, found);
    k().embedding_bwd(in(x), token, 0, dw);
    const View joined = out(3, 16), left = out(6, 3), right = out(6, 5);
    k().concat_columns(in(x), in(x), joined);
    k().concat_columns_bwd(in(table), left, right);
    const View moved = inout(x), added = inout(x);
    k().copy_columns(in(narrow(3, 8, 5)), moved, {2, 2, 0, 3, 1, 4});
    k().copy_columns(in(narrow(3, 8, 5)), added, {2, 2, 0, 3, 1, 0, true});
    return std::vector{rows,  probs, y,      spread, dx,    dprobs, sorted, back,
                       found, dw,    joined, left,   right, moved,  added};
  });
}

TEST_P(KernelConformance, Bf16LossAndStep) {
  const Matrix logits = narrow(4, 11, 1, 5), g = narrow(1, 70, 2), w = random_matrix(1, 70, 3);
  expect_same_in_bf16([&] {
    const View labels = in_i32({3, -1, 10, 0}, 1, 4), stats = out_f32(4, 3);
    const View x = inout(logits), loss = inout_f32(Matrix(1, 2));
    k().ce_stats(x, labels, {0, 11}, stats);
    k().ce_loss(x, labels, {0, 11}, stats, 0.25, {}, loss);
    const View m = inout_f32(Matrix(1, 70)), v = inout_f32(Matrix(1, 70)), master = inout_f32(w);
    k().adamw(in(g), m, v, master, 0.5, {.lr = 0.1, .step = 1});
    return std::vector{x, stats, loss, m, v, master};
  });
  set_floats(DType::bf16);
  double sum = 0;
  for (const double v : g.values) sum += v * v;
  EXPECT_NEAR(k().sum_of_squares(in(g)), sum, 1e-9 * sum);
  const View cleared = inout(g);
  k().zero(cleared);
  EXPECT_EQ(get(cleared), Matrix(1, 70));
}

}  // namespace
}  // namespace pleat::conformance
