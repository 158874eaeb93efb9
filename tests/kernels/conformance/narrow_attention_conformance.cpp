// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention that reads 8 bits: that of operands which were rounded before. Operands are bf16, so a
// set may round what codes stand for to bf16 again.
#include <algorithm>
#include <cmath>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

using Range = std::int32_t[2];
constexpr std::int64_t kBatch = 2, kSeq = 70, kRows = kBatch * kSeq, kHeads = 4, kGroups = 2;
constexpr std::int64_t kWidth = 40, kRope = 8;  // two parts of a key, the second one of all heads

Matrix bf16_matrix(std::int64_t cols, int seed, double size) {
  Matrix m = random_matrix(kRows, cols, seed, size);
  for (double& v : m.values) v = to_float(to_bf16(static_cast<float>(v)));
  return m;
}

// Rows [first, + rows) and columns [column, + cols) as codes of one scale have them.
void round(Matrix& m, std::int64_t first, std::int64_t rows, std::int64_t column, std::int64_t cols,
           SmallFloat type, bool power_of_two) {
  float most = 0;
  for (std::int64_t r = first; r < first + rows; ++r) {
    for (std::int64_t c = column; c < column + cols; ++c) {
      most = std::max(most, static_cast<float>(std::abs(m(r, c))));
    }
  }
  float up = most > 0 ? largest(type) / most : 1, down = 1 / up;
  if (power_of_two) {
    const std::uint8_t code = encode_e8m0(most * (1 / largest(type)));
    up = std::ldexp(1.0F, 127 - code);
    down = decode_e8m0(code);
  }
  for (std::int64_t r = first; r < first + rows; ++r) {
    for (std::int64_t c = column; c < column + cols; ++c) {
      m(r, c) = decode(type, encode(type, static_cast<float>(m(r, c)) * up)) * down;
    }
  }
}

// Columns of `width` a head: one scale for a head's in a run of rows, or for 32 columns of a row.
Matrix rounded(const Matrix& m, std::int64_t width, DType math, bool gradient = false) {
  Matrix out = m;
  for (std::int64_t column = 0; column < m.cols; column += width) {
    if (math == DType::fp8) {
      const SmallFloat type = gradient ? SmallFloat::e5m2 : SmallFloat::e4m3;
      for (std::int64_t b = 0; b < kBatch; ++b) {
        round(out, b * kSeq, kSeq, column, width, type, false);
      }
      continue;
    }
    for (std::int64_t r = 0; r < m.rows; ++r) {
      for (std::int64_t c = 0; c < width; c += 32) {
        round(out, r, 1, column + c, std::min<std::int64_t>(32, width - c), SmallFloat::e4m3, true);
      }
    }
  }
  return out;
}

struct Operands {
  Matrix q, q_rope, k, k_rope, v, d_o;
};
struct Results {
  Matrix o, lse, dq, dk, dk_rope, dv;
};

TEST_P(KernelConformance, NarrowAttentionReadsRoundedHeads) {
  std::vector<std::int32_t> visible;
  for (std::int64_t r = 0; r < kRows; ++r) {
    visible.insert(visible.end(), {0, static_cast<std::int32_t>(r % kSeq + 1)});
  }
  const auto attend = [&](const Operands& x, DType math, DType type) {
    set_floats(type);
    const auto heads = [](View view, std::int64_t width, std::int64_t share = 1) {
      return HeadColumns{.x = view, .first = 0, .stride = width, .width = width, .share = share};
    };
    const auto of_all = [](View view) { return HeadColumns{.x = view, .width = kRope}; };
    const AttentionPiece p{.batch = kBatch,
                           .heads = kHeads,
                           .scale = 0.2,
                           .q = {heads(in(x.q), kWidth), heads(in(x.q_rope), kRope)},
                           .k = {heads(in(x.k), kWidth, kHeads / kGroups), of_all(in(x.k_rope))},
                           .v = heads(in(x.v), kWidth, kHeads / kGroups),
                           .visible = reinterpret_cast<const Range*>(visible.data()),
                           .math = math};
    const HeadColumns d_o = heads(in(x.d_o), kWidth);
    set_floats(DType::fp32);
    const HeadColumns o = heads(out(kRows, kHeads * kWidth), kWidth);
    const View lse = out(kRows, kHeads);
    const AttentionPieceGradient g{
        .dq = {heads(inout(Matrix(kRows, x.q.cols)), kWidth),
               heads(inout(Matrix(kRows, x.q_rope.cols)), kRope)},
        .dk = {heads(inout(Matrix(kRows, x.k.cols)), kWidth, kHeads / kGroups),
               of_all(inout(Matrix(kRows, kRope)))},
        .dv = heads(inout(Matrix(kRows, x.v.cols)), kWidth, kHeads / kGroups)};
    k().attention_piece(p, o, lse, false);
    k().attention_piece_bwd(p, d_o, o, lse, g);
    return Results{get(o.x), get(lse), get(g.dq[0].x), get(g.dk[0].x), get(g.dk[1].x), get(g.dv.x)};
  };
  const Operands x{bf16_matrix(kHeads * kWidth, 1, 2), bf16_matrix(kHeads * kRope, 2, 2),
                   bf16_matrix(kGroups * kWidth, 3, 2), bf16_matrix(kRope, 4, 2),
                   bf16_matrix(kGroups * kWidth, 5, 3), bf16_matrix(kHeads * kWidth, 6, 1)};
  for (const DType math : {DType::fp8, DType::mxfp8}) {
    SCOPED_TRACE(name_of(math));
    const Results got = attend(x, math, DType::bf16);
    const Operands narrow{rounded(x.q, kWidth, math),       rounded(x.q_rope, kRope, math),
                          rounded(x.k, kWidth, math),       rounded(x.k_rope, kRope, math),
                          rounded(x.v, kWidth, math),       rounded(x.d_o, kWidth, math, true)};
    const Results want = attend(narrow, DType::fp32, DType::fp32);
    const double tolerance = math == DType::fp8 ? 1e-2 : 2e-5;  // powers of two stay what they are
    expect_close(got.o, want.o, "o", tolerance);
    expect_close(got.lse, want.lse, "lse", tolerance);
    expect_close(got.dq, want.dq, "dq", tolerance);
    expect_close(got.dk, want.dk, "dk", tolerance);
    expect_close(got.dk_rope, want.dk_rope, "dk of all heads", tolerance);
    expect_close(got.dv, want.dv, "dv", tolerance);
    const Results wide = attend(x, DType::fp32, DType::fp32);
    double apart = 0, most = 0;
    for (std::size_t i = 0; i < wide.dv.values.size(); ++i) {
      apart = std::max(apart, std::abs(wide.dv.values[i] - got.dv.values[i]));
      most = std::max(most, std::abs(wide.dv.values[i]));
    }
    EXPECT_GT(apart, 2e-2 * most);
  }
}

}  // namespace
}  // namespace pleat::conformance
