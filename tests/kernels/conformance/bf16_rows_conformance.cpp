// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that work by rows or elements, with operands in bf16: packs filled and not.
#include "tests/kernels/conformance/bf16.hpp"

namespace pleat::conformance {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Bf16Conformance);

struct Size {
  std::int64_t rows, cols;
};
constexpr Size kSizes[] = {{1, 1}, {3, 7}, {5, 64}, {9, 132}, {2, 1288}, {2, 4200}};

TEST_P(Bf16Conformance, Norms) {
  for (const Size& s : {Size{1, 1}, {5, 7}, {33, 64}, {3, 520}, {4, 2049}, {3, 8192}, {2, 9000},
                        {330, 128}, {90, 256}, {90, 600}, {20, 1104}}) {
    expect_like_fp32([&](Operands& o) {
      const View x = o.in(s.rows, s.cols, 1, 3), w = o.in(1, s.cols, 2), y = o.out(s.rows, s.cols);
      const View rstd = o.fp32_out(1, s.rows), dy = o.in(s.rows, s.cols, 3);
      const View more = o.in(s.rows, s.cols, 4), dx = o.out(s.rows, s.cols);
      const View dw = o.inout(1, s.cols, 5);
      k().rms_norm(x, w, y, rstd, 1e-5);
      k().rms_norm_bwd(dy, x, w, rstd, more, dx, dw);
      o.result(y, "y"), o.result(rstd, "rstd"), o.result(dx, "dx"), o.result(dw, "dw");
      const View both = o.in(2, s.cols, 6), z = o.out(s.rows, s.cols), dz = o.out(s.rows, s.cols);
      const View dboth = o.inout(2, s.cols, 7);
      k().layer_norm(x, both, z, rstd, 1e-5);
      k().layer_norm_bwd(dy, x, both, rstd, more, dz, dboth);
      o.result(z, "layer norm"), o.result(dz, "its dx"), o.result(dboth, "its dw");
    });
  }
}

TEST_P(Bf16Conformance, HeadNorms) {
  for (const std::int64_t d : {5, 64, 128}) {
    const AttentionShape s{.heads = 3, .kv_groups = 1, .head_dim = d};
    expect_like_fp32([&](Operands& o) {
      const View x = o.in(7, 5 * d, 1, 2), wq = o.in(1, d, 2), wk = o.in(1, d, 3);
      const View y = o.out(7, 5 * d), rstd = o.fp32_out(7, 4), dy = o.in(7, 5 * d, 4);
      const View dx = o.out(7, 5 * d), dwq = o.inout(1, d, 5), dwk = o.inout(1, d, 6);
      k().head_norm(x, wq, wk, y, rstd, s, 1e-5);
      k().head_norm_bwd(dy, x, wq, wk, rstd, dx, dwq, dwk, s);
      o.result(y, "y"), o.result(dx, "dx"), o.result(dwq, "dwq"), o.result(dwk, "dwk");
    });
  }
}

TEST_P(Bf16Conformance, Activations) {
  for (const Size& s : kSizes) {
    expect_like_fp32([&](Operands& o) {
      const View u = o.in(s.rows, 2 * s.cols, 1, 4), p = o.fp32(1, s.rows, 2);
      const View dy = o.in(s.rows, s.cols, 3), y = o.out(s.rows, s.cols);
      const View du = o.out(s.rows, 2 * s.cols), dp = o.fp32_out(1, s.rows);
      k().swiglu(u, p, y);
      k().swiglu_bwd(dy, u, p, du, dp);
      o.result(y, "swiglu"), o.result(du, "du"), o.result(dp, "dp");
      const View g = o.out(s.rows, s.cols), dg = o.out(s.rows, s.cols);
      k().gelu(dy, g);
      k().gelu_bwd(y, dy, dg);
      o.result(g, "gelu");
      for (const Elementwise f : {Elementwise::gated_gelu, Elementwise::relu_squared}) {
        const View a = f == Elementwise::gated_gelu ? u : dy;
        const View z = o.out(s.rows, s.cols), da = o.out(s.rows, a.cols);
        const View dq = o.fp32_out(1, s.rows);
        k().pointwise(f, a, p, z);
        k().pointwise_bwd(f, dy, a, p, da, dq);
        o.result(z, "pointwise"), o.result(da, "da"), o.result(dq, "db");
      }
      const View gate = o.in(s.rows, s.cols, 4, 4), z = o.out(s.rows, s.cols);
      const View dz = o.out(s.rows, s.cols), dgate = o.out(s.rows, s.cols);
      k().pointwise(Elementwise::sigmoid_gate, dy, gate, z);
      k().pointwise_bwd(Elementwise::sigmoid_gate, dy, dy, gate, dz, dgate);
      o.result(z, "gated"), o.result(dz, "its da"), o.result(dgate, "its db");
      const View row_gate = o.in(1, s.rows, 5, 4), by_row = o.out(s.rows, s.cols);
      const View dby_row = o.out(s.rows, s.cols), drow_gate = o.out(1, s.rows);
      k().sigmoid_gate(dy, row_gate, by_row);
      k().sigmoid_gate_bwd(dy, dy, row_gate, dby_row, drow_gate);
      o.result(by_row, "row gate"), o.result(dby_row, "its dy"), o.result(drow_gate, "its dgate");
    });
  }
}

TEST_P(Bf16Conformance, SumsAndCopies) {
  for (const Size& s : kSizes) {
    expect_like_fp32([&](Operands& o) {
      const View a = o.in(s.rows, s.cols, 1), b = o.in(s.rows, s.cols, 2);
      const View c = o.in(s.rows, s.cols, 3), two = o.out(s.rows, s.cols);
      const View three = o.out(s.rows, s.cols), both = o.out(s.rows, 2 * s.cols);
      k().add(a, b, none(), two);
      k().add(a, b, c, three);
      k().concat_columns(a, b, both);
      const View left = o.out(s.rows, s.cols), right = o.out(s.rows, s.cols);
      k().concat_columns_bwd(both, left, right);
      o.result(two, "a+b"), o.result(three, "a+b+c"), o.result(both, "a|b");
      o.result(left, "a"), o.result(right, "b");
      const View bias = o.in(1, s.cols, 4), y = o.inout(s.rows, s.cols, 5);
      const View db = o.inout(1, s.cols, 6), dw = o.inout(s.rows, s.cols, 7);
      k().add_bias(bias, 0.5, y);
      k().add_bias_bwd(a, 0.5, db);
      k().add_positions_bwd(a, s.rows, 0.5, dw);
      o.result(y, "y+b"), o.result(db, "db"), o.result(dw, "dw of positions");
      const View copied = o.out(s.rows, s.cols);
      k().copy(a, copied);
      o.result(copied, "copy");
    });
  }
}

TEST_P(Bf16Conformance, Rope) {
  for (const bool interleaved : {false, true}) {
    for (const std::int64_t dim : {6, 64}) {
      const RopeShape s{.seq = 9, .heads = 3, .stride = 72, .first = 1, .offset = 8, .dim = dim,
                        .theta = 10000, .interleaved = interleaved};
      expect_like_fp32([&](Operands& o) {
        const View x = o.inout(18, 288, 1), back = o.inout(18, 288, 2);
        k().rope(x, s, false);
        k().rope(back, s, true);
        o.result(x, "turned"), o.result(back, "turned back");
      });
    }
  }
}

TEST_P(Bf16Conformance, AdamW) {
  expect_like_fp32([&](Operands& o) {
    const View g = o.in(1, 1003, 1), m = o.fp32(1, 1003, 2, 0.1), v = o.fp32(1, 1003, 3, 0);
    const View w = o.inout(1, 1003, 4);
    k().adamw(g, m, v, w, 0.5, {.lr = 0.01, .weight_decay = 0.1});
    o.result(m, "m"), o.result(v, "v"), o.result(w, "w");
  });
}

TEST_P(Bf16Conformance, SumOfSquares) {
  double sums[2] = {};
  for (const int every : {0, 1}) {
    Operands o(*this, every);
    sums[every] = k().sum_of_squares(o.in(3, 1237, 1));
  }
  EXPECT_NEAR(sums[0], sums[1], 1e-9 * sums[0]);
}

}  // namespace
}  // namespace pleat::conformance
