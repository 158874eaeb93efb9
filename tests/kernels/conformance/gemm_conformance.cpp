// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense and grouped products over every transposition, empty and uneven groups.
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

struct ProductSize {
  std::int64_t m, n, k;
};
constexpr ProductSize kProductSizes[] = {
    {0, 4, 5},   {4, 0, 5},    {3, 4, 0},    {1, 1, 1},   {2, 3, 4},      {5, 7, 3},    {1, 64, 96},
    {64, 1, 96}, {17, 33, 65}, {48, 48, 47}, {31, 96, 1}, {130, 70, 300}, {3, 257, 513}};

TEST_P(KernelConformance, Gemm) {
  for (const ProductSize& s : kProductSizes) {
    const Matrix a = random_matrix(s.m, s.k, 1), b = random_matrix(s.k, s.n, 2);
    const Matrix c = random_matrix(s.m, s.n, 3), product = times(a, b);
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << s.m << "x" << s.n << "x" << s.k << " transposed " << ta << tb);
        const View va = in(ta ? transposed(a) : a), vb = in(tb ? transposed(b) : b);
        const View fresh = out(s.m, s.n), sum = inout(c);
        k().gemm(va, ta, vb, tb, fresh, false);
        k().gemm(va, ta, vb, tb, sum, true);
        expect_close(get(fresh), product, "c");
        expect_close(get(sum), plus(c, product), "c accumulated");
      }
    }
  }
}

const std::vector<std::int32_t> kCounts[] = {{1},       {0},           {5},           {3, 0, 5, 1},
                                             {0, 0, 0}, {0, 17, 0, 0}, {33, 1, 0, 64}};
constexpr ProductSize kExpertSizes[] = {{0, 1, 1}, {0, 7, 5}, {0, 33, 64}, {0, 64, 17}};

Matrix rows_of(const Matrix& m, std::int64_t first, std::int64_t count) {
  Matrix some(count, m.cols);
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < m.cols; ++c) some(r, c) = m(first + r, c);
  }
  return some;
}
void put_rows(Matrix& m, std::int64_t first, const Matrix& some) {
  for (std::int64_t r = 0; r < some.rows; ++r) {
    for (std::int64_t c = 0; c < m.cols; ++c) m(first + r, c) = some(r, c);
  }
}
std::int64_t total(const std::vector<std::int32_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int32_t c : counts) sum += c;
  return sum;
}

TEST_P(KernelConformance, GroupedGemm) {
  for (const auto& counts : kCounts) {
    for (const ProductSize& s : kExpertSizes) {
      const std::int64_t groups = std::ssize(counts), rows = total(counts);
      const Matrix weights = random_matrix(groups * s.n, s.k, 1);
      const Matrix x = random_matrix(rows, s.k, 2), dy = random_matrix(rows, s.n, 3);
      Matrix y(rows, s.n), dx(rows, s.k);
      std::int64_t first = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t count = counts[static_cast<std::size_t>(g)];
        const Matrix w = rows_of(weights, g * s.n, s.n);
        put_rows(y, first, times(rows_of(x, first, count), transposed(w)));
        put_rows(dx, first, times(rows_of(dy, first, count), w));
        first += count;
      }
      const View vw = in(weights), vc = in_i32(counts, 1, groups);
      const View vy = out(rows, s.n), vdx = out(rows, s.k);
      k().grouped_gemm(in(x), vw, true, vc, vy);
      k().grouped_gemm(in(dy), vw, false, vc, vdx);
      expect_close(get(vy), y, "forward");
      expect_close(get(vdx), dx, "dgrad");
    }
  }
}

TEST_P(KernelConformance, GroupedWgrad) {
  for (const auto& counts : kCounts) {
    for (const ProductSize& s : kExpertSizes) {
      const std::int64_t groups = std::ssize(counts), rows = total(counts);
      const Matrix x = random_matrix(rows, s.k, 2), dy = random_matrix(rows, s.n, 3);
      const Matrix before = random_matrix(groups * s.n, s.k, 4);
      Matrix dw(groups * s.n, s.k);
      std::int64_t first = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t count = counts[static_cast<std::size_t>(g)];
        put_rows(dw, g * s.n,
                 times(transposed(rows_of(dy, first, count)), rows_of(x, first, count)));
        first += count;
      }
      const View vdy = in(dy), vx = in(x), vc = in_i32(counts, 1, groups);
      const View fresh = out(groups * s.n, s.k), sum = inout(before);
      k().grouped_wgrad(vdy, vx, vc, fresh, false);
      k().grouped_wgrad(vdy, vx, vc, sum, true);
      expect_close(get(fresh), dw, "wgrad");
      expect_close(get(sum), plus(before, dw), "wgrad accumulated");
    }
  }
}

}  // namespace
}  // namespace pleat::conformance
