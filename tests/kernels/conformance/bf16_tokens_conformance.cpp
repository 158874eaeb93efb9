// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products, attention, tables, permutations and the loss with operands in bf16.
#include <cmath>

#include "tests/kernels/conformance/bf16.hpp"

namespace pleat::conformance {
namespace {

using Ints = std::vector<std::int32_t>;

// Rounding inputs of a product to bf16 changes nothing here; its sums are fp32 in any order.
TEST_P(Bf16Conformance, Products) {
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& s : {Size{1, 1, 1}, {3, 5, 7}, {64, 32, 48}, {130, 136, 264}, {257, 24, 1032}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        expect_like_fp32([&](Operands& o) {
          const View a = ta ? o.in(s.k, s.m, 1) : o.in(s.m, s.k, 1);
          const View b = tb ? o.in(s.n, s.k, 2) : o.in(s.k, s.n, 2);
          const View fresh = o.out(s.m, s.n), whole = o.fp32_out(s.m, s.n);
          k().gemm(a, ta, b, tb, fresh, false);
          k().gemm(a, ta, b, tb, whole, false);
          o.result(fresh, "c"), o.result(whole, "c in fp32");
        });
        // A library may round the product before it adds it, as some of cuBLASLt's kernels do.
        expect_like_fp32([&](Operands& o) {
          const View a = ta ? o.in(s.k, s.m, 1) : o.in(s.m, s.k, 1);
          const View b = tb ? o.in(s.n, s.k, 2) : o.in(s.k, s.n, 2);
          const View sum = o.inout(s.m, s.n, 3);
          k().gemm(a, ta, b, tb, sum, true);
          o.result(sum, "c accumulated");
        }, 1.0 / 256, 1.0 / 256);
      }
    }
  }
}

// The router's backward pass: logits' gradients are fp32 with all their bits.
TEST_P(Bf16Conformance, ProductsOfFp32AndBf16) {
  const std::int64_t tokens = 264, experts = 64, hidden = 320;
  const Matrix slope = random_matrix(tokens, experts, 1);
  Operands o(*this, 1);
  const View weights = o.in(experts, hidden, 2), x = o.in(tokens, hidden, 3);
  const View dlogits = in(slope), dx = o.out(tokens, hidden),
             dw = inout(Matrix(experts, hidden, 1));
  k().gemm(dlogits, false, weights, false, dx, false);
  k().gemm(dlogits, true, x, false, dw, true);
  const Matrix rounded = of(weights), want = times(slope, rounded);
  expect_close(of(dx), want, "dx", 1.0 / 256);
  const Matrix gate = random_matrix(experts, hidden, 4);
  const View logits = out(tokens, experts);
  k().gemm(x, false, in(gate), true, logits, false);
  expect_close(get(logits), times(of(x), transposed(gate)), "logits of an fp32 gate", 2e-5);
  expect_close(get(dw), plus(Matrix(experts, hidden, 1), times(transposed(slope), of(x))), "dw",
               2e-5);
}

TEST_P(Bf16Conformance, GroupedProducts) {
  struct Size {
    std::int64_t n, k;
  };
  for (const Ints& counts : {Ints{1}, Ints{3, 0, 5, 1}, Ints{0, 0}, Ints{200, 0, 129, 64, 1}}) {
    std::int64_t rows = 0;
    for (const std::int32_t c : counts) rows += c;
    const std::int64_t groups = std::ssize(counts);
    for (const Size& s : {Size{1, 1}, {7, 5}, {64, 128}, {136, 72}, {256, 160}}) {
      expect_like_fp32([&](Operands& o) {
        const View x = o.in(rows, s.k, 1), w = o.in(groups * s.n, s.k, 2), y = o.out(rows, s.n);
        const View dy = o.same_in(x, rows, s.n, 3), dx = o.out(rows, s.k);
        const View fresh = o.out(groups * s.n, s.k), sum = o.inout(groups * s.n, s.k, 4);
        const View whole = o.fp32(groups * s.n, s.k, 5), sizes = o.i32(counts);
        const View fresh32 = o.fp32_out(groups * s.n, s.k);  // zero where a group is empty
        k().grouped_gemm(x, w, true, sizes, y);
        k().grouped_gemm(dy, w, false, sizes, dx);
        k().grouped_wgrad(dy, x, sizes, fresh, false);
        k().grouped_wgrad(dy, x, sizes, sum, true);
        k().grouped_wgrad(dy, x, sizes, whole, true);
        k().grouped_wgrad(dy, x, sizes, fresh32, false);
        o.result(y, "forward"), o.result(dx, "dgrad"), o.result(fresh, "wgrad");
        o.result(sum, "wgrad accumulated"), o.result(whole, "wgrad in fp32");
        o.result(fresh32, "wgrad in fp32, not added");
      });
    }
  }
}

// Fused kernels round probabilities to bf16 before they are multiplied.
TEST_P(Bf16Conformance, Attention) {
  for (const std::int64_t d : {8, 64, 128}) {
    for (const std::int64_t seq : {1, 33, 130, 256}) {
      const AttentionShape s{2, seq, 4, 2, d, 1 / std::sqrt(static_cast<double>(d))};
      expect_like_fp32([&](Operands& o) {
        const std::int64_t rows = 2 * seq;
        const View qkv = o.in(rows, s.columns(), 1), out = o.same(qkv, rows, 4 * d);
        const View lse = o.fp32_out(rows, 4), d_o = o.same_in(qkv, rows, 4 * d, 2);
        const View dqkv = o.same(qkv, rows, s.columns());
        k().attention(qkv, out, lse, s);
        k().attention_bwd(d_o, qkv, out, lse, dqkv, s);
        o.result(out, "o"), o.result(lse, "lse"), o.result(dqkv, "dqkv");
      }, 1.6e-2, 1e-2);
    }
  }
}

TEST_P(Bf16Conformance, MlaAttention) {
  for (const std::int64_t seq : {5, 97, 256}) {
    const MlaShape s{.batch = 2, .seq = seq, .heads = 2, .nope = 128, .rope = 64, .v = 128,
                     .kv_lora = 32, .scale = 0.07};
    expect_like_fp32([&](Operands& o) {
      const std::int64_t rows = 2 * seq;
      const View q = o.in(rows, 2 * 192, 1), kv = o.same_in(q, rows, 2 * 256, 2);
      const View kpe = o.same_in(q, rows, 96, 3), out = o.same(q, rows, 256);
      const View lse = o.fp32_out(rows, 2), d_o = o.same_in(q, rows, 256, 4);
      const View dq = o.same(q, rows, 2 * 192), dkv = o.same(q, rows, 2 * 256);
      const View dkpe = o.same_in(q, rows, 96, 5);
      k().mla_attention(q, kv, kpe, out, lse, s);
      k().mla_attention_bwd(d_o, q, kv, kpe, out, lse, dq, dkv, dkpe, s);
      o.result(out, "o"), o.result(lse, "lse"), o.result(dq, "dq"), o.result(dkv, "dkv");
      o.result(dkpe, "dkpe");
    }, 1.6e-2, 1e-2);
  }
}

TEST_P(Bf16Conformance, TablesAndLoss) {
  const Ints tokens = {3, 0, 3, 6, 3, 9, 1, 3};
  for (const std::int64_t hidden : {1, 7, 264}) {
    expect_like_fp32([&](Operands& o) {
      const View w = o.in(7, hidden, 1), x = o.same(w, 8, hidden), dx = o.in(8, hidden, 2);
      const View dw = o.inout(7, hidden, 3), t = o.i32(tokens);
      k().embedding(t, w, 0, x);
      k().embedding_bwd(dx, t, 0, dw);
      o.result(x, "x"), o.result(dw, "dw");
    });
  }
  for (const std::int64_t vocabulary : {5, 64, 5003}) {
    expect_like_fp32([&](Operands& o) {
      const View logits = o.inout(4, vocabulary, 1, 4), stats = o.fp32_out(4, 3);
      const View labels = o.i32({1, -1, 3, 2}), loss = o.fp32(1, 1, 2);
      k().ce_stats(logits, labels, {0, vocabulary - 1}, stats);
      k().ce_loss(logits, labels, {0, vocabulary - 1}, stats, 0.25, {}, loss);
      o.result(stats, "stats"), o.result(logits, "dlogits"), o.result(loss, "loss");
    });
  }
}

TEST_P(Bf16Conformance, Permutations) {
  const Ints experts = {2, 0, -1, 3, 2, 1};
  for (const std::int64_t hidden : {1, 9, 512}) {
    expect_like_fp32([&](Operands& o) {
      const View x = o.in(3, hidden, 1), px = o.same(x, 4, hidden), probs = o.fp32(3, 2, 2);
      const View pp = o.fp32_out(1, 4), map = o.i32_out(6), y = o.out(3, hidden);
      const View dpx = o.same(x, 4, hidden), dx = o.inout(3, hidden, 3);
      const View dprobs = o.fp32_out(3, 2), sorted = o.same(x, 4, hidden);
      k().permute(x, probs, o.i32(experts), o.i32({2, 2}), 2, px, pp, map);
      k().unpermute(px, map, y);
      k().unpermute_bwd(x, map, dpx);
      k().permute_bwd(px, pp, map, dx, dprobs, true);
      View counts = o.i32({1, 2, 1, 0});
      counts.rows = counts.cols = 2;
      k().sort_chunks(px, counts, {0, 2, 1}, sorted);
      o.result(px, "px"), o.result(y, "y"), o.result(dpx, "dpx"), o.result(dx, "dx");
      o.result(sorted, "sorted");
    });
  }
}

// More columns than the threads of a row load at once, in whole packs and not.
TEST_P(Bf16Conformance, LossOfManyColumns) {
  for (const std::int64_t columns : {16400, 18003}) {
    expect_like_fp32([&](Operands& o) {
      const View logits = o.inout(2, columns, 1, 4), stats = o.fp32_out(2, 3);
      const View labels = o.i32({3, static_cast<std::int32_t>(columns - 1)});
      const View loss = o.fp32(1, 2, 2, 0);
      k().ce_stats(logits, labels, {0, columns - 1}, stats);
      o.result(stats, "stats");
      k().ce_loss(logits, labels, {0, columns}, stats, 0.5, {}, loss);
      o.result(loss, "loss"), o.result(logits, "its gradient");
    });
  }
}

}  // namespace
}  // namespace pleat::conformance
