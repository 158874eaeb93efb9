// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The same bits for the same numbers: wherever the buffers lie, and, for kernels that work by rows,
// whichever other rows are there.
#include "tests/kernels/conformance/attention_reference.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

using Bits = std::vector<std::int32_t>;

void append(Bits& all, const Bits& more) { all.insert(all.end(), more.begin(), more.end()); }

// Bits of every kernel that adds or calls exp, at one shape.
TEST_P(KernelConformance, SameBitsAtEveryAlignment) {
  Bits first;
  for (const std::int64_t shift : {0, 1, 3, 4, 7}) {
    set_shift(shift);
    Bits bits;
    const Matrix x = random_matrix(21, 53, 1, 3), w = random_matrix(1, 53, 2);
    const View vx = in(x), vw = in(w), y = out(21, 53), rstd = out(1, 21);
    k().rms_norm(vx, vw, y, rstd, 1e-5);
    const View dx = out(21, 53), dw = inout(Matrix(1, 53));
    k().rms_norm_bwd(y, vx, vw, rstd, none(), dx, dw);
    for (const View v : {y, rstd, dx, dw}) append(bits, get_i32(v));

    for (const std::int64_t m : {1, 2, 5, 33}) {
      for (const std::int64_t n : {1, 3, 40}) {
        const View a = in(random_matrix(m, 61, 3)), b = in(random_matrix(n, 61, 4));
        const View c = inout(Matrix(m, n, 0.5));
        k().gemm(a, false, b, true, c, true);
        append(bits, get_i32(c));
      }
    }

    const AttentionShape s{1, 45, 2, 1, 11, 0.3};
    const View qkv = in(random_matrix(45, 44, 5)), o = out(45, 22), lse = out(45, 2);
    const View dqkv = out(45, 44);
    k().attention(qkv, o, lse, s);
    k().attention_bwd(in(random_matrix(45, 22, 6)), qkv, o, lse, dqkv, s);
    for (const View v : {o, lse, dqkv}) append(bits, get_i32(v));

    const View u = in(random_matrix(5, 58, 7, 4)), act = out(5, 29), stats = out(5, 3);
    k().swiglu(u, in(random_matrix(1, 5, 8)), act);
    k().ce_stats(u, in_i32({1, 2, 3, 4, 5}, 1, 5), {0, 58}, stats);
    const View probs = out(5, 6), experts = out_i32(5, 6);
    k().router_topk(u, none(), probs, experts, {.experts = 58, .top_k = 6});
    for (const View v : {act, stats, probs, experts}) append(bits, get_i32(v));

    if (shift == 0) first = bits;
    EXPECT_EQ(bits, first) << "shifted by " << shift;
  }
}

TEST_P(KernelConformance, RowsDoNotDependOnTheirNeighbours) {
  const std::int64_t rows = 9, cols = 46;
  const Matrix x = random_matrix(rows, cols, 1, 3), w = random_matrix(1, cols, 2);
  const Matrix p = random_matrix(1, rows, 3), dy = random_matrix(rows, cols, 4);
  const RouterShape router{.experts = cols, .top_k = 4, .score = RouterScore::sigmoid};
  const AttentionShape heads{.heads = 19, .kv_groups = 2, .head_dim = 2};
  // Results of rows [first, first+count), one Bits a row.
  const auto run = [&](std::int64_t first, std::int64_t count) {
    const auto rows_of = [&](const Matrix& m) { return in(piece(m, first, count, 0, m.cols)); };
    const View vx = rows_of(x), vw = in(w), vp = in(piece(p, 0, 1, first, count));
    const View norm = out(count, cols), rstd = out(1, count), dx = out(count, cols);
    k().rms_norm(vx, vw, norm, rstd, 1e-5);
    k().rms_norm_bwd(rows_of(dy), vx, vw, rstd, none(), dx, inout(Matrix(1, cols)));
    const View act = out(count, cols / 2), gelu = out(count, cols), gated = out(count, cols);
    k().swiglu(vx, vp, act);
    k().gelu(vx, gelu);
    k().sigmoid_gate(vx, vp, gated);
    const View probs = out(count, 4), experts = out_i32(count, 4), stats = out(count, 3);
    k().router_topk(vx, none(), probs, experts, router);
    k().ce_stats(vx, in_i32(Bits(static_cast<std::size_t>(count), 7), 1, count), {0, cols}, stats);
    const View by_head = out(count, cols), head_rstd = out(count, 21);
    k().head_norm(vx, in(piece(w, 0, 1, 0, 2)), in(piece(w, 0, 1, 2, 2)), by_head, head_rstd, heads,
                  1e-5);
    std::vector<Bits> by_row(static_cast<std::size_t>(count));
    for (const View v : {norm, dx, act, gelu, gated, probs, experts, stats, by_head, head_rstd}) {
      const Bits all = get_i32(v);
      for (std::int64_t r = 0; r < count; ++r) {
        append(by_row[static_cast<std::size_t>(r)],
               Bits(all.begin() + r * v.cols, all.begin() + (r + 1) * v.cols));
      }
    }
    return by_row;
  };
  const std::vector<Bits> together = run(0, rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    EXPECT_EQ(run(r, 1)[0], together[static_cast<std::size_t>(r)]) << "row " << r;
  }
}

}  // namespace
}  // namespace pleat::conformance
