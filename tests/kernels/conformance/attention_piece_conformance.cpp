// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention over pieces of the keys with ranges of visible ones, against its definition over all
// keys; and the copies of column blocks.
#include <cmath>

#include "tests/kernels/conformance/attention_reference.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

using Range = std::int32_t[2];

// Two heads of width 5 (key parts 3 and 2) that share one value head of width 4.
struct Case {
  std::int64_t batch, queries, keys, split;  // keys in two pieces: [0, split) and the rest
  std::int64_t reach;                        // query i sees keys (i - reach, i] and its offset
};
constexpr std::int64_t kHeads = 2, kFirst = 3, kSecond = 2, kValue = 4;

bool sees(const Case& c, std::int64_t i, std::int64_t key) {
  const std::int64_t last = i + c.keys - c.queries;
  return key <= last && key > last - c.reach;
}

// The range of rows of a piece that begins at key `from` and has `count` of them.
std::vector<std::int32_t> ranges(const Case& c, std::int64_t from, std::int64_t count) {
  std::vector<std::int32_t> all;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.queries; ++i) {
      std::int32_t first = 0, last = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        if (!sees(c, i, from + k)) continue;
        if (last == 0) first = static_cast<std::int32_t>(k);
        last = static_cast<std::int32_t>(k) + 1;
      }
      all.insert(all.end(), {first, last});
    }
  }
  return all;
}

struct Reference {
  Matrix o, lse, dq, dk, dv;
};

Reference reference(const Case& c, const Matrix& q, const Matrix& k, const Matrix& v,
                    const Matrix& d_o, double scale) {
  const std::int64_t d = kFirst + kSecond;
  Reference out{Matrix(q.rows, kHeads * kValue), Matrix(q.rows, kHeads), Matrix(q.rows, q.cols),
                Matrix(k.rows, k.cols), Matrix(v.rows, v.cols)};
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t i = 0; i < c.queries; ++i) {
        const std::int64_t row = b * c.queries + i;
        std::vector<double> p(static_cast<std::size_t>(c.keys), 0.0);
        double sum = 0;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          if (!sees(c, i, j)) continue;
          double s = 0;
          for (std::int64_t x = 0; x < d; ++x)
            s += q(row, h * d + x) * k(b * c.keys + j, h * d + x);
          sum += p[static_cast<std::size_t>(j)] = std::exp(scale * s);
        }
        out.lse(row, h) = std::log(sum);
        double dot = 0;
        std::vector<double> dp(p.size(), 0.0);
        for (std::int64_t j = 0; j < c.keys; ++j) {
          double& weight = p[static_cast<std::size_t>(j)];
          weight /= sum;
          for (std::int64_t x = 0; x < kValue; ++x) {
            const double value = v(b * c.keys + j, x), g = d_o(row, h * kValue + x);
            out.o(row, h * kValue + x) += weight * value;
            dp[static_cast<std::size_t>(j)] += g * value;
            out.dv(b * c.keys + j, x) += weight * g;
          }
          dot += weight * dp[static_cast<std::size_t>(j)];
        }
        for (std::int64_t j = 0; j < c.keys; ++j) {
          const auto at = static_cast<std::size_t>(j);
          const double ds = scale * p[at] * (dp[at] - dot);
          for (std::int64_t x = 0; x < d; ++x) {
            out.dq(row, h * d + x) += ds * k(b * c.keys + j, h * d + x);
            out.dk(b * c.keys + j, h * d + x) += ds * q(row, h * d + x);
          }
        }
      }
    }
  }
  return out;
}

HeadColumns part(View x, std::int64_t first, std::int64_t stride, std::int64_t width,
                 std::int64_t share = 1) {
  return {.x = x, .first = first, .stride = stride, .width = width, .share = share};
}

// Rows [from, +count) of every sequence.
Matrix keys_of(const Matrix& all, const Case& c, std::int64_t from, std::int64_t count) {
  Matrix some(c.batch * count, all.cols);
  for (std::int64_t b = 0; b < c.batch; ++b) {
    add_piece(some, piece(all, b * c.keys + from, count, 0, all.cols), b * count, 0);
  }
  return some;
}

TEST_P(KernelConformance, AttentionOverPieces) {
  const Case cases[] = {{1, 1, 1, 0, 1},      {2, 4, 7, 3, 100},   {1, 40, 40, 20, 100},
                        {2, 33, 97, 64, 100}, {1, 70, 150, 75, 6}, {1, 5, 200, 100, 3}};
  const std::int64_t d = kFirst + kSecond;
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.queries << " to " << c.keys << " reach " << c.reach);
    const Matrix q = random_matrix(c.batch * c.queries, kHeads * d, 1, 2);
    const Matrix keys = random_matrix(c.batch * c.keys, kHeads * d, 2, 2);
    const Matrix values = random_matrix(c.batch * c.keys, kValue, 3);
    const Matrix d_o = random_matrix(q.rows, kHeads * kValue, 4);
    const Reference want = reference(c, q, keys, values, d_o, 0.4);
    const View vq = in(q), o = out(q.rows, kHeads * kValue), lse = out(q.rows, kHeads);
    const View vd = in(d_o), dq = inout(Matrix(q.rows, q.cols));
    struct Piece {
      std::int64_t from, count;
      std::vector<std::int32_t> visible;
      View k, v, dk, dv;
      AttentionPiece operands;
    };
    std::vector<Piece> pieces;
    for (const auto& [from, count] : {std::pair{std::int64_t{0}, c.split},
                                      std::pair{c.split, c.keys - c.split}}) {
      if (count == 0) continue;
      Piece p{from, count, ranges(c, from, count), in(keys_of(keys, c, from, count)),
              in(keys_of(values, c, from, count)), inout(Matrix(c.batch * count, keys.cols)),
              inout(Matrix(c.batch * count, kValue)), {}};
      pieces.push_back(std::move(p));
      Piece& last = pieces.back();
      last.operands = {.batch = c.batch,
                       .heads = kHeads,
                       .scale = 0.4,
                       .q = {part(vq, 0, d, kFirst), part(vq, kFirst, d, kSecond)},
                       .k = {part(last.k, 0, d, kFirst), part(last.k, kFirst, d, kSecond)},
                       .v = part(last.v, 0, kValue, kValue, kHeads),
                       .visible = reinterpret_cast<const Range*>(last.visible.data())};
    }
    bool resume = false;
    for (const Piece& p : pieces) {
      k().attention_piece(p.operands, part(o, 0, kValue, kValue), lse, resume);
      resume = true;
    }
    expect_close(get(o), want.o, "o", 2e-5);
    expect_close(get(lse), want.lse, "lse");
    for (const Piece& p : pieces) {
      k().attention_piece_bwd(
          p.operands, part(vd, 0, kValue, kValue), part(o, 0, kValue, kValue), lse,
          {.dq = {part(dq, 0, d, kFirst), part(dq, kFirst, d, kSecond)},
           .dk = {part(p.dk, 0, d, kFirst), part(p.dk, kFirst, d, kSecond)},
           .dv = part(p.dv, 0, kValue, kValue, kHeads)});
      expect_close(get(p.dk), keys_of(want.dk, c, p.from, p.count), "dk", 1e-4);
      expect_close(get(p.dv), keys_of(want.dv, c, p.from, p.count), "dv", 1e-4);
    }
    expect_close(get(dq), want.dq, "dq", 1e-4);
  }
}

TEST_P(KernelConformance, AttentionOverNoVisibleKeyIsEmpty) {
  const View q = in(random_matrix(2, 3, 1)), keys = in(random_matrix(4, 3, 2));
  const View o = out(2, 3), lse = out(2, 1);
  const Range visible[] = {{0, 0}, {1, 3}};
  k().attention_piece({.heads = 1,
                       .q = {part(q, 0, 3, 3), {}},
                       .k = {part(keys, 0, 3, 3), {}},
                       .v = part(keys, 0, 3, 3),
                       .visible = visible},
                      part(o, 0, 3, 3), lse, false);
  EXPECT_EQ(piece(get(o), 0, 1, 0, 3), Matrix(1, 3, 0));
  EXPECT_EQ(get(lse)(0, 0), -INFINITY);
  EXPECT_TRUE(std::isfinite(get(lse)(1, 0)));
}

TEST_P(KernelConformance, CopiesColumnBlocks) {
  const Matrix x = random_matrix(3, 10, 1);
  const View from = in(x), to = inout(Matrix(3, 8, 1));
  k().copy_columns(from, to, {.blocks = 2, .width = 2, .from_first = 1, .from_stride = 5,
                              .to_first = 0, .to_stride = 3});
  Matrix want(3, 8, 1);
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t i = 0; i < 2; ++i) {
      want(r, i) = x(r, 1 + i);
      want(r, 3 + i) = x(r, 6 + i);
    }
  }
  EXPECT_EQ(get(to), want);
  // The second block onto the first: blocks of a head added up.
  k().copy_columns(from, to, {.blocks = 2, .width = 1, .from_first = 0, .from_stride = 9,
                              .to_first = 7, .to_stride = 0, .add = true});
  expect_close(piece(get(to), 2, 1, 7, 1), Matrix(1, 1, 1 + x(2, 0) + x(2, 9)), "sum", 1e-6);
}

TEST_P(KernelConformance, RopeAtGivenPositions) {
  const RopeShape by_row{.seq = 8, .heads = 2, .stride = 6, .first = 0, .offset = 2, .dim = 4};
  const Matrix x = random_matrix(8, 12, 1);
  const View all = inout(x);
  k().rope(all, by_row, false);
  const std::vector<std::int32_t> places{7, 2, 2};
  RopeShape some = by_row;
  some.positions = places.data();
  Matrix picked(3, 12);
  for (std::int64_t r = 0; r < 3; ++r) {
    add_piece(picked, piece(x, places[static_cast<std::size_t>(r)], 1, 0, 12), r, 0);
  }
  const View turned = inout(picked);
  k().rope(turned, some, false);
  for (std::int64_t r = 0; r < 3; ++r) {
    EXPECT_EQ(piece(get(turned), r, 1, 0, 12),
              piece(get(all), places[static_cast<std::size_t>(r)], 1, 0, 12));
  }
}

}  // namespace
}  // namespace pleat::conformance
