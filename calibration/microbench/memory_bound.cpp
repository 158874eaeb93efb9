// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that move data: norms, activations, permutation, optimizer, copies. Each family is fitted
// by itself: a kernel with an exponential in every element runs at a fraction of a copy's rate.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

using Prepare = std::function<std::function<void()>(KernelSet&, unsigned)>;

KernelPoint point(KernelClass kernel, const char* label, std::int64_t rows, std::int64_t cols,
                  std::int64_t elements, Prepare prepare) {
  return {.name = fmt::format("{} {}x{}", label, rows, cols),
          .kernel = kernel,
          .flops = 0,
          .bytes = 4.0 * static_cast<double>(elements),
          .prepare = std::move(prepare)};
}

// Where the two copies of each of `tokens` tokens lie: 7 is prime to the number of rows, a power
// of two.
std::vector<std::int32_t> row_map(std::int64_t tokens) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(2 * tokens));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::int32_t>(i * 7 % rows.size());
  return rows;
}

void append(std::vector<KernelPoint>& points, std::int64_t t, std::int64_t h) {
  const std::int64_t n = t * h;
  points.push_back(point(KernelClass::norm, "rms_norm", t, h, 2 * n + h + t, [=](KernelSet& k, unsigned seed) {
    const Buffer x(t, h, seed), w(1, h, seed + 1), y(t, h, seed + 2), rstd(t, 1, seed + 3);
    return [=, &k] { k.rms_norm(x.view(), w.view(), y.view(), rstd.view(), 1e-6); };
  }));
  points.push_back(point(KernelClass::norm, "rms_norm_bwd", t, h, 3 * n + 3 * h + t, [=](KernelSet& k, unsigned seed) {
    const Buffer dy(t, h, seed), x(t, h, seed + 1), w(1, h, seed + 2), rstd(t, 1, seed + 3);
    const Buffer dx(t, h, seed + 4), dw(1, h, seed + 5);
    return [=, &k] {
      k.rms_norm_bwd(dy.view(), x.view(), w.view(), rstd.view(), {}, dx.view(), dw.view());
    };
  }));
  points.push_back(point(KernelClass::activation, "swiglu", t, h, 3 * n, [=](KernelSet& k, unsigned seed) {
    const Buffer u(t, 2 * h, seed), y(t, h, seed + 1);
    return [=, &k] { k.swiglu(u.view(), {}, y.view()); };
  }));
  points.push_back(point(KernelClass::activation, "swiglu_bwd", t, h, 5 * n, [=](KernelSet& k, unsigned seed) {
    const Buffer dy(t, h, seed), u(t, 2 * h, seed + 1), du(t, 2 * h, seed + 2);
    return [=, &k] { k.swiglu_bwd(dy.view(), u.view(), {}, du.view(), {}); };
  }));
  points.push_back(point(KernelClass::memory_bound, "add", t, h, 3 * n, [=](KernelSet& k, unsigned seed) {
    const Buffer a(t, h, seed), b(t, h, seed + 1), y(t, h, seed + 2);
    return [=, &k] { k.add(a.view(), b.view(), {}, y.view()); };
  }));
  // Two copies a token: reads y rows and the map, writes their sum.
  points.push_back(point(KernelClass::permute, "unpermute", t, h, 3 * n + 2 * t, [=](KernelSet& k, unsigned seed) {
    const Buffer px(2 * t, h, seed), y(t, h, seed + 1);
    const IndexBuffer map(row_map(t), 2);
    return [=, &k] { k.unpermute(px.view(), map.view(), y.view()); };
  }));
  points.push_back(point(KernelClass::permute, "unpermute_bwd", t, h, 3 * n + 2 * t,
                         [=](KernelSet& k, unsigned seed) {
    const Buffer dy(t, h, seed), dpx(2 * t, h, seed + 1);
    const IndexBuffer map(row_map(t), 2);
    return [=, &k] { k.unpermute_bwd(dy.view(), map.view(), dpx.view()); };
  }));
  points.push_back(point(KernelClass::activation, "gelu", t, h, 2 * n,
                         [=](KernelSet& k, unsigned seed) {
    const Buffer u(t, h, seed), y(t, h, seed + 1);
    return [=, &k] { k.gelu(u.view(), y.view()); };
  }));
  points.push_back(point(KernelClass::memory_bound, "sum_of_squares", t, h, n,
                         [=](KernelSet& k, unsigned seed) {
    const Buffer g(t, h, seed);
    return [=, &k] { (void)k.sum_of_squares(g.view()); };
  }));
  points.push_back(point(KernelClass::memory_bound, "zero", t, h, n,
                         [=](KernelSet& k, unsigned seed) {
    const Buffer x(t, h, seed);
    return [=, &k] { k.zero(x.view()); };
  }));
  points.push_back(point(KernelClass::optimizer, "adamw", t, h, 7 * n, [=](KernelSet& k, unsigned seed) {
    const Buffer g(t, h, seed), m(t, h, seed + 1), w(t, h, seed + 3);
    const Buffer v(t, h, seed + 2);
    k.zero(v.view());  // the second moment is not negative
    return [=, &k] { k.adamw(g.view(), m.view(), v.view(), w.view(), 1.0, AdamW{}); };
  }));
  points.push_back(point(KernelClass::memory_bound, "copy", t, h, 2 * n, [=](KernelSet& k, unsigned seed) {
    const Buffer x(t, h, seed), y(t, h, seed + 1);
    return [=, &k] { k.copy(x.view(), y.view()); };
  }));
}

}  // namespace

std::vector<KernelPoint> memory_bound_points() {
  std::vector<KernelPoint> points;
  for (std::int64_t rows : {32, 256, 2048}) append(points, rows, 128);
  append(points, 512, 512);
  return points;
}

}  // namespace pleat
