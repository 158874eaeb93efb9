// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a step does once to all weights and gradients: they are seldom in a cache.
#include <fmt/format.h>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

// Of each element `words` are moved, in so many buffers.
KernelPoint point(KernelClass kernel, const char* label, std::int64_t elements, double words,
                  double buffers, Bench::Prepare prepare) {
  return {.name = fmt::format("{} of {} elements", label, elements),
          .kernel = kernel,
          .flops = 0,
          .bytes = 4.0 * words * static_cast<double>(elements),
          .prepare = std::move(prepare),
          .held = 4.0 * buffers * static_cast<double>(elements)};
}

}  // namespace

std::vector<KernelPoint> state_points() {
  std::vector<KernelPoint> points;
  // Every third is measured on all cores too: AdamW where it comes from memory, which they share.
  for (std::int64_t n : {1 << 21, 1 << 22, 1 << 23, 1 << 20, 1 << 18, 1 << 14}) {
    points.push_back(
        point(KernelClass::optimizer, "adamw", n, 7, 4, [=](Bench& bench, unsigned seed) {
          const Buffer g(bench, 1, n, seed), m(bench, 1, n, seed + 1), v(bench, 1, n, seed + 2),
              w(bench, 1, n, seed + 3);
          bench.kernels().zero(v.view());  // the second moment is not negative
          return [=, &bench] {
            bench.kernels().adamw(g.view(), m.view(), v.view(), w.view(), 1.0, AdamW{});
          };
        }));
    points.push_back(
        point(KernelClass::sweep, "sum_of_squares", n, 1, 1, [=](Bench& bench, unsigned seed) {
          const Buffer g(bench, 1, n, seed);
          return [=, &bench] { (void)bench.kernels().sum_of_squares(g.view()); };
        }));
    points.push_back(point(KernelClass::sweep, "zero", n, 1, 1, [=](Bench& bench, unsigned seed) {
      const Buffer x(bench, 1, n, seed);
      return [=, &bench] { bench.kernels().zero(x.view()); };
    }));
    points.push_back(
        point(KernelClass::sweep, "copy of the state", n, 2, 2, [=](Bench& bench, unsigned seed) {
          const Buffer x(bench, 1, n, seed), y(bench, 1, n, seed + 1);
          return [=, &bench] { bench.kernels().copy(x.view(), y.view()); };
        }));
  }
  return points;
}

}  // namespace pleat
