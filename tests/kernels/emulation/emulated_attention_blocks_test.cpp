// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism's pieces and attention without a mask as they go to cuDNN, which loops stand
// in for, against our own kernels.
#include <array>

#include "kernels/cuda/visible_keys.hpp"
#include "tests/kernels/emulation/emulated_attention.hpp"

namespace pleat::conformance {
namespace {

constexpr std::int64_t kBatch = 2, kSeq = 12, kRows = kBatch * kSeq, kHeads = 4;

using Ranges = std::vector<std::array<std::int32_t, 2>>;

// The same for every run.
Ranges ranges(const std::function<std::array<std::int32_t, 2>(std::int32_t)>& of_row) {
  Ranges all;
  for (std::int32_t r = 0; r < kRows; ++r) all.push_back(of_row(r % kSeq));
  return all;
}

// A rank's chunks i and 2n - 1 - i against its own, those of a rank before it and of one behind it.
const std::array<Ranges, 3>& pieces() {
  constexpr std::int32_t kAll = kSeq, kHalf = kSeq / 2;
  static const std::array<Ranges, 3> all{
      ranges([](std::int32_t i) { return std::array{0, i + 1}; }),
      ranges([](std::int32_t) { return std::array{0, kHalf}; }),
      ranges([](std::int32_t i) { return i < kHalf ? std::array{0, 0} : std::array{0, kAll}; })};
  return all;
}

auto visible(const Ranges& r) { return reinterpret_cast<const std::int32_t(*)[2]>(r.data()); }

// Heads of queries and, in a matrix of its own, of keys and values.
struct Layout {
  std::int64_t groups, width, value, other_columns;  // behind the queries'
  [[nodiscard]] std::int64_t q_cols() const { return kHeads * width + other_columns; }
  [[nodiscard]] std::int64_t kv_cols() const { return groups * (width + value); }
  [[nodiscard]] HeadColumns q(View x) const { return {x, 0, width, width}; }
  [[nodiscard]] HeadColumns k(View x) const { return {x, 0, width, width, kHeads / groups}; }
  [[nodiscard]] HeadColumns v(View x) const {
    return {x, groups * width, value, value, kHeads / groups};
  }
  [[nodiscard]] HeadColumns o(View x) const { return {x, 0, value, value}; }
};

TEST_P(EmulatedHeads, PiecesOfAContextParallelRank) {
  for (const Layout& l : {Layout{2, 16, 16, 48}, Layout{kHeads, 24, 16, 0}}) {
    SCOPED_TRACE(l.width);
    const std::int64_t passes = 1 + (GetParam() ? l.groups : 1),
                       runs = kBatch * std::ssize(pieces());
    expect_like_our_own(
        [&](KernelSet& k) {
          Numbers q(kRows, l.q_cols(), 1), o(kRows, kHeads * l.value, 2),
              d_o(kRows, kHeads * l.value, 3);
          Numbers dq(kRows, l.q_cols(), 4);
          std::vector<float> lse(kRows * kHeads);
          const View stats{lse.data(), DType::fp32, kRows, kHeads};
          std::vector<Matrix> all;
          const auto piece = [&](std::size_t i, View kv) {
            return AttentionPiece{.batch = kBatch, .heads = kHeads, .scale = 0.3,
                                  .q = {l.q(q.view), {}}, .k = {l.k(kv), {}}, .v = l.v(kv),
                                  .visible = visible(pieces()[i])};
          };
          for (std::size_t i = 0; i < pieces().size(); ++i) {
            Numbers kv(kRows, l.kv_cols(), 10 + static_cast<int>(i));
            k.attention_piece(piece(i, kv.view), l.o(o.view), stats, i > 0);
          }
          for (std::size_t i = 0; i < pieces().size(); ++i) {
            Numbers kv(kRows, l.kv_cols(), 10 + static_cast<int>(i)), dkv(kRows, l.kv_cols(), 20);
            k.attention_piece_bwd(piece(i, kv.view), l.o(d_o.view), l.o(o.view), stats,
                                  {{l.q(dq.view), {}}, {l.k(dkv.view), {}}, l.v(dkv.view)});
            all.push_back(dkv.matrix());
          }
          all.insert(all.end(), {o.matrix(), fp32(lse, kHeads), dq.matrix()});
          return all;
        },
        static_cast<int>(passes * runs));
  }
}

// Rows that a first piece hides everything from want zeros: our own kernels write them.
TEST(EmulatedAttention, AFirstPieceOfSomeRowsIsOurOwn) {
  const Layout l{kHeads, 16, 16, 0};
  expect_like_our_own(
      [&](KernelSet& k) {
        Numbers q(kRows, l.q_cols(), 1), kv(kRows, l.kv_cols(), 2), o(kRows, kHeads * l.value, 3);
        std::vector<float> lse(kRows * kHeads);
        k.attention_piece({.batch = kBatch,
                           .heads = kHeads,
                           .scale = 0.3,
                           .q = {l.q(q.view), {}},
                           .k = {l.k(kv.view), {}},
                           .v = l.v(kv.view),
                           .visible = visible(pieces()[2])},
                          l.o(o.view), {lse.data(), DType::fp32, kRows, kHeads}, false);
        return std::vector{o.matrix()};
      },
      0);
}

// Keys packed with the queries.
TEST(EmulatedAttention, WithoutAMask) {
  const std::int64_t cols = 3 * kHeads * 16;
  const Ranges everything = ranges([](std::int32_t) {
    return std::array<std::int32_t, 2>{0, kSeq};
  });
  expect_like_our_own(
      [&](KernelSet& k) {
        Numbers qkv(kRows, cols, 1), o(kRows, kHeads * 16, 2), d_o(kRows, kHeads * 16, 3),
            gradient(kRows, cols, 4);
        std::vector<float> lse(kRows * kHeads);
        const View stats{lse.data(), DType::fp32, kRows, kHeads};
        const auto part = [](View x, std::int64_t i) {
          return HeadColumns{x, i * kHeads * 16, 16, 16};
        };
        const AttentionPiece p{.batch = kBatch, .heads = kHeads, .scale = 0.3,
                               .q = {part(qkv.view, 0), {}}, .k = {part(qkv.view, 1), {}},
                               .v = part(qkv.view, 2), .visible = visible(everything)};
        k.attention_piece(p, part(o.view, 0), stats, false);
        k.attention_piece_bwd(p, part(d_o.view, 0), part(o.view, 0), stats,
                              {{part(gradient.view, 0), {}}, {part(gradient.view, 1), {}},
                               part(gradient.view, 2)});
        return std::vector{o.matrix(), fp32(lse, kHeads), gradient.matrix()};
      },
      2 * kBatch);
}

std::optional<cuda::VisibleBlock> block(const Ranges& r, std::int64_t batch = 1) {
  return cuda::as_block(visible(r), batch, std::ssize(r) / batch);
}

TEST(VisibleBlock, RowsWithTheSameKeysOrATriangle) {
  const auto some = block({{0, 0}, {2, 5}, {2, 5}, {7, 7}});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->first_row, 1);
  EXPECT_EQ(some->rows, 2);
  EXPECT_EQ(some->first_key, 2);
  EXPECT_EQ(some->keys, 3);
  EXPECT_FALSE(some->causal);
  const auto triangle = block({{1, 2}, {1, 3}, {1, 4}});
  ASSERT_TRUE(triangle);
  EXPECT_TRUE(triangle->causal);
  EXPECT_EQ(triangle->first_key, 1);
  EXPECT_EQ(triangle->keys, 3);
}

TEST(VisibleBlock, NothingElse) {
  EXPECT_FALSE(block({{0, 0}, {3, 3}})) << "nothing is seen";
  EXPECT_FALSE(block({{0, 2}, {0, 3}})) << "a triangle on a rectangle";
  EXPECT_FALSE(block({{0, 1}, {1, 2}})) << "a window";
  EXPECT_FALSE(block({{0, 2}, {0, 0}, {0, 2}})) << "a gap";
  EXPECT_FALSE(block({{0, 1}, {0, 2}, {0, 4}})) << "a step of two";
  EXPECT_FALSE(block({{0, 2}, {0, 2}, {0, 2}, {0, 1}}, 2)) << "runs that differ";
  EXPECT_FALSE(block({{0, 2}, {0, 2}, {0, 0}, {0, 2}}, 2));
}

}  // namespace
}  // namespace pleat::conformance
