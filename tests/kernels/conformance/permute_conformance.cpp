// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Moving rows: to expert order and back, between chunk orders, for uneven, empty and one-hot
// routing.
#include <sys/mman.h>

#include <algorithm>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

using Ints = std::vector<std::int32_t>;

enum class Routing { spread, one_hot, gaps };

// k different experts a token.
Ints routes(std::int64_t tokens, std::int64_t experts, std::int64_t top_k, Routing routing) {
  Ints all;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = 0; j < top_k; ++j) {
      switch (routing) {
        case Routing::spread:
          all.push_back(static_cast<int>((t * 7 + (top_k - j) * 3) % experts));
          break;
        case Routing::one_hot:
          all.push_back(static_cast<int>(experts - 1 - j));
          break;
        case Routing::gaps:
          all.push_back(static_cast<int>((2 * (t + j)) % experts));
          break;
      }
    }
  }
  return all;
}

struct Case {
  std::int64_t tokens, experts, top_k, hidden;
};
constexpr Case kCases[] = {{0, 4, 2, 3},  {1, 1, 1, 1},  {5, 4, 1, 7},    {17, 8, 2, 16},
                           {9, 61, 6, 5}, {3, 8, 4, 33}, {64, 1500, 2, 1}};
constexpr Routing kRoutings[] = {Routing::spread, Routing::one_hot, Routing::gaps};

struct Sorted {
  Ints counts, row_map;
};
Sorted sorted(const Ints& experts, std::int64_t count) {
  Sorted out{Ints(static_cast<std::size_t>(count), 0), Ints(experts.size())};
  std::vector<std::size_t> order(experts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return experts[a] < experts[b]; });
  for (std::size_t row = 0; row < order.size(); ++row) {
    out.row_map[order[row]] = static_cast<int>(row);
    ++out.counts[static_cast<std::size_t>(experts[row])];
  }
  return out;
}

TEST_P(KernelConformance, PermuteAndItsGradient) {
  for (const Case& c : kCases) {
    for (const Routing routing : kRoutings) {
      const std::int64_t copies = c.tokens * c.top_k;
      const Ints experts = routes(c.tokens, c.experts, c.top_k, routing);
      const Sorted want = sorted(experts, c.experts);
      const Matrix x = random_matrix(c.tokens, c.hidden, 1);
      const Matrix probs = random_matrix(c.tokens, c.top_k, 2);
      const View px = out(copies, c.hidden), pp = out(1, copies), map = out_i32(1, copies);
      k().permute(in(x), in(probs), in_i32(experts, c.tokens, c.top_k),
                  in_i32(want.counts, 1, c.experts), 0, px, pp, map);
      EXPECT_EQ(get_i32(map), want.row_map);
      const Matrix got = get(px), got_probs = get(pp);
      for (std::int64_t i = 0; i < copies; ++i) {
        const std::int64_t row = want.row_map[static_cast<std::size_t>(i)];
        EXPECT_EQ(got_probs(0, row), probs.values[static_cast<std::size_t>(i)]);
        for (std::int64_t h = 0; h < c.hidden; ++h) EXPECT_EQ(got(row, h), x(i / c.top_k, h));
      }

      const Matrix dpx = random_matrix(copies, c.hidden, 3), dpp = random_matrix(1, copies, 4);
      const Matrix before = random_matrix(c.tokens, c.hidden, 5);
      Matrix dx(c.tokens, c.hidden), dprobs(c.tokens, c.top_k);
      for (std::int64_t i = 0; i < copies; ++i) {
        const std::int64_t row = want.row_map[static_cast<std::size_t>(i)];
        dprobs.values[static_cast<std::size_t>(i)] = dpp(0, row);
        for (std::int64_t h = 0; h < c.hidden; ++h) dx(i / c.top_k, h) += dpx(row, h);
      }
      const View vdpx = in(dpx), vdpp = in(dpp), vmap = in_i32(want.row_map, 1, copies);
      const View fresh = out(c.tokens, c.hidden), sum = inout(before);
      const View first = out(c.tokens, c.top_k), second = out(c.tokens, c.top_k);
      k().permute_bwd(vdpx, vdpp, vmap, fresh, first, false);
      k().permute_bwd(vdpx, vdpp, vmap, sum, second, true);
      expect_close(get(fresh), dx, "dx", 1e-6);
      expect_close(get(sum), plus(before, dx), "dx accumulated", 1e-6);
      EXPECT_EQ(get(first), dprobs);
      EXPECT_EQ(get(second), dprobs);
    }
  }
}

TEST_P(KernelConformance, UnpermuteAndItsGradient) {
  for (const Case& c : kCases) {
    const std::int64_t copies = c.tokens * c.top_k;
    const Ints map =
        sorted(routes(c.tokens, c.experts, c.top_k, Routing::spread), c.experts).row_map;
    const Matrix px = random_matrix(copies, c.hidden, 1), dy = random_matrix(c.tokens, c.hidden, 2);
    Matrix y(c.tokens, c.hidden), dpx(copies, c.hidden);
    for (std::int64_t i = 0; i < copies; ++i) {
      for (std::int64_t h = 0; h < c.hidden; ++h) {
        y(i / c.top_k, h) += px(map[static_cast<std::size_t>(i)], h);
        dpx(map[static_cast<std::size_t>(i)], h) = dy(i / c.top_k, h);
      }
    }
    const View vmap = in_i32(map, 1, copies), vy = out(c.tokens, c.hidden);
    const View vdpx = out(copies, c.hidden);
    k().unpermute(in(px), vmap, vy);
    k().unpermute_bwd(in(dy), vmap, vdpx);
    expect_close(get(vy), y, "y", 1e-6);
    EXPECT_EQ(get(vdpx), dpx);
  }
}

// Rows are numbered in (source, expert) order, so the sorted rows can be written down.
TEST_P(KernelConformance, ChunksSortByExpertThenSource) {
  // 3 sources, 5 experts; this rank holds experts 1 and 2 (columns marked), or 2, 3 and 4.
  const Ints counts = {9, 2, 0, 1, 0,  //
                       9, 0, 3, 0, 0,  //
                       9, 1, 2, 4, 0};
  struct {
    std::int64_t first, local;
    std::vector<double> order;
    Ints totals;
  } const cases[] = {{1, 2, {0, 1, 5, 2, 3, 4, 6, 7}, {3, 5}},
                     {2, 3, {1, 2, 3, 4, 5, 0, 6, 7, 8, 9}, {5, 5, 0}},
                     {4, 1, {}, {0}},
                     {1, 1, {0, 1, 2}, {3}}};
  for (const auto& c : cases) {
    const std::int64_t rows = std::ssize(c.order);
    Matrix x(rows, 3), sorted_rows(rows, 3);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t h = 0; h < 3; ++h) {
        x(r, h) = static_cast<double>(10 * r + h);
        sorted_rows(r, h) = 10 * c.order[static_cast<std::size_t>(r)] + static_cast<double>(h);
      }
    }
    const View all = in_i32(counts, 3, 5), y = out(rows, 3), back = out(rows, 3);
    const View totals = out_i32(1, c.local);
    k().sort_chunks(in(x), all, {c.first, c.local, 1}, y);
    EXPECT_EQ(get(y), sorted_rows);
    k().unsort_chunks(in(sorted_rows), all, {c.first, c.local, 1}, back);
    EXPECT_EQ(get(back), x);
    k().local_counts(all, c.first, c.local, totals);
    EXPECT_EQ(get_i32(totals), c.totals);
  }
}

// Two sources of two peers each; a rank's rows are numbered in (peer, source, expert) order.
TEST_P(KernelConformance, ChunksOfPeersSortByExpertPeerSource) {
  const Ints counts = {1, 2,   // source 0, peer 0
                       2, 0,   // source 0, peer 1
                       0, 1,   // source 1, peer 0
                       1, 1};  // source 1, peer 1
  // Peer 0 received 0|1 2 and then |3 from the other source, peer 1: 4 5| and 6|7.
  const std::vector<double> order = {0, 4, 5, 6, 1, 2, 3, 7};
  Matrix x(8, 1), sorted_rows(8, 1);
  for (std::size_t r = 0; r < 8; ++r) {
    x.values[r] = static_cast<double>(r);
    sorted_rows.values[r] = order[r];
  }
  const View all = in_i32(counts, 4, 2), y = out(8, 1), back = out(8, 1);
  k().sort_chunks(in(x), all, {0, 2, 2}, y);
  EXPECT_EQ(get(y), sorted_rows);
  k().unsort_chunks(in(sorted_rows), all, {0, 2, 2}, back);
  EXPECT_EQ(get(back), x);
}

// Bug 16: 32-bit products of rows and columns (NVIDIA/TransformerEngine#2907), a row of -1 that is
// read: a row that begins after 2^31 elements beside a copy that is nowhere. Only the pages that
// are touched exist, so this is for kernels in memory of the host: the CPU's, and the GPU's own
// code emulated.
TEST_P(KernelConformance, RowsBeyondTwoToThe31Elements) {
  const std::string device = GetParam().name;
  if (device != "cpu" && device != "ascending" && device != "descending") {
    GTEST_SKIP() << "memory of the host";
  }
  const std::int64_t rows = 70'000, columns = 32'768, last = rows - 1;
  const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const View px{memory, DType::fp32, rows, columns};
  px.f32()[last * columns + 7] = 3;
  const View y = out(1, columns), map = in_i32({static_cast<int>(last), -1}, 1, 2);
  k().unpermute(px, map, y);
  EXPECT_EQ(get(y)(0, 7), 3);
  EXPECT_EQ(get(y)(0, 8), 0);
  std::vector<float> dpp(static_cast<std::size_t>(rows));
  dpp.back() = 5;
  const View dprobs = out(1, 2);
  k().permute_bwd(px, {dpp.data(), DType::fp32, rows, 1}, map, y, dprobs, false);
  EXPECT_EQ(get(y)(0, 7), 3);
  EXPECT_EQ(get(dprobs).values, (std::vector<double>{5, 0}));
  munmap(memory, bytes);
}

// Three tokens of two copies; this rank has experts 2 and 3, both padded to two rows.
TEST_P(KernelConformance, PermutePicksLocalExpertsAndFillsUpWithZeros) {
  const Ints experts = {2, 0, -1, 3, 2, 1};
  const Matrix x = random_matrix(3, 2, 1), probs = random_matrix(3, 2, 2);
  const View px = out(4, 2), pp = out(1, 4), map = out_i32(1, 6);
  k().permute(in(x), in(probs), in_i32(experts, 3, 2), in_i32({2, 2}, 1, 2), 2, px, pp, map);
  EXPECT_EQ(get_i32(map), (Ints{0, -1, -1, 2, 1, -1}));
  Matrix rows(4, 2), want_probs(1, 4);
  for (std::int64_t h = 0; h < 2; ++h) {
    rows(0, h) = x(0, h);
    rows(1, h) = x(2, h);
    rows(2, h) = x(1, h);
  }
  want_probs.values = {probs(0, 0), probs(2, 0), probs(1, 1), 0};
  EXPECT_EQ(get(px), rows);
  EXPECT_EQ(get(pp), want_probs);

  const View y = out(3, 2), back = out(4, 2), dprobs = out(3, 2), dx = out(3, 2);
  k().unpermute(px, map, y);
  EXPECT_EQ(get(y), x);
  k().unpermute_bwd(in(x), map, back);
  EXPECT_EQ(get(back), rows);
  k().permute_bwd(px, in(want_probs), map, dx, dprobs, false);
  EXPECT_EQ(get(dx), x);
  Matrix kept_probs = probs;
  for (const std::size_t dropped : {1, 2, 5}) kept_probs.values[dropped] = 0;
  EXPECT_EQ(get(dprobs), kept_probs);
}

}  // namespace
}  // namespace pleat::conformance
