// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products over the local experts, with uneven rows per expert, one of them empty.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

// Rows in the ratio 1 : 2 : 3 : …, the last expert empty where there are more than two.
std::vector<std::int32_t> uneven(std::int64_t rows, std::int64_t experts) {
  const std::int64_t used = experts > 2 ? experts - 1 : experts;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(experts), 0);
  std::int64_t given = 0;
  for (std::int64_t e = 0; e < used; ++e) {
    const std::int64_t share =
        e + 1 == used ? rows - given : rows * (e + 1) * 2 / (used * (used + 1));
    counts[static_cast<std::size_t>(e)] = static_cast<std::int32_t>(share);
    given += share;
  }
  return counts;
}

KernelPoint point(bool wgrad, std::int64_t rows, std::int64_t experts, std::int64_t out,
                  std::int64_t in) {
  const double r = static_cast<double>(rows), n = static_cast<double>(out),
               k = static_cast<double>(in);
  const double weights = static_cast<double>(experts) * n * k;
  KernelPoint p{
      .name = fmt::format("grouped_gemm{} {}x{}x{} {} experts", wgrad ? ".wgrad" : "", rows, out,
                          in, experts),
      .kernel = KernelClass::grouped_gemm,
      .flops = 2 * r * n * k,
      .bytes = 4 * (r * n + r * k + weights * (wgrad ? 2 : 1) + static_cast<double>(experts)),
      .prepare = {}};
  p.prepare = [=](KernelSet& kernels, unsigned seed) -> std::function<void()> {
    const Buffer x(rows, in, seed), y(rows, out, seed + 1), w(experts * out, in, seed + 2);
    const IndexBuffer counts(uneven(rows, experts));
    if (wgrad) {
      return [=, &kernels] {
        kernels.grouped_wgrad(y.view(), x.view(), counts.view(), w.view(), true);
      };
    }
    return
        [=, &kernels] { kernels.grouped_gemm(x.view(), w.view(), true, counts.view(), y.view()); };
  };
  return p;
}

}  // namespace

std::vector<KernelPoint> grouped_gemm_points() {
  std::vector<KernelPoint> points;
  for (std::int64_t experts : {2, 4, 8}) {
    for (std::int64_t rows : {64, 256, 1024}) {
      points.push_back(point(false, rows, experts, 256, 128));
      points.push_back(point(false, rows, experts, 128, 64));
      points.push_back(point(true, rows, experts, 256, 128));
    }
  }
  return points;
}

}  // namespace pleat
