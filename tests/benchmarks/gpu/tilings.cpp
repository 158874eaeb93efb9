// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat_gpu_tilings [runs]: grouped products of models' experts with every tiling that was built,
// and every walk through its tiles: one JSON object a line on stdout. All of a product take turns:
// a GPU at its power limit is slower for whoever comes later.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/benchmarks/gpu/bench.hpp"
#include "tests/benchmarks/gpu/expert_shapes.hpp"
#include "tests/benchmarks/gpu/tiling.hpp"

namespace pleat::bench {

std::span<const Section> sections() { return {}; }

namespace {

struct Walked {
  const char* name;
  bool other_side;
  int swizzle;
};
constexpr Walked kWalks[] = {{"", false, 1},
                             {", swizzle 2", false, 2},
                             {", swizzle 4", false, 4},
                             {", other side", true, 1}};

cuda::Strided rows_of(View v) { return {v.data, v.dtype, v.cols, 1}; }
cuda::Strided columns_of(View v) { return {v.data, v.dtype, 1, v.cols}; }

struct Operands {
  View x, w, y, dw, counts;
};

cuda::Products product(std::string_view kind, const Operands& o, std::int64_t experts) {
  const std::int64_t n = o.y.cols, k = o.x.cols;
  cuda::Products p{.grouping = cuda::Products::Grouping::rows,
                   .groups = experts,
                   .counts = o.counts.i32(),
                   .group_step = n * k};
  if (kind == "forward") {
    p.a = rows_of(o.x), p.b = columns_of(o.w), p.c = rows_of(o.y);
    p.m = o.x.rows, p.n = n, p.k = k;
  } else if (kind == "dgrad") {
    p.a = rows_of(o.y), p.b = rows_of(o.w), p.c = rows_of(o.x);
    p.m = o.x.rows, p.n = k, p.k = n;
  } else {
    p.a = columns_of(o.y), p.b = rows_of(o.x), p.c = rows_of(o.dw);
    p.m = n, p.n = k, p.k = o.x.rows;
    p.grouping = cuda::Products::Grouping::depth;
    p.accumulate = true;
  }
  return p;
}

void measure(Bench& b, cuda::Resources& r, const Model& m, std::int64_t n, std::int64_t k,
             const char* which, Counts counts) {
  const std::int64_t rows = m.experts * m.tokens_an_expert;
  const Operands o{.x = b.random(DType::bf16, rows, k),
                   .w = b.random(DType::bf16, m.experts * n, k),
                   .y = b.random(DType::bf16, rows, n),
                   .dw = b.random(DType::fp32, m.experts * n, k),
                   .counts = b.i32(counts_of(m, counts))};
  const double flops =
      2.0 * static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k);
  const std::string shape =
      fmt::format("{} {} {} experts x {} rows{}, {}x{}", m.name, which, m.experts,
                  m.tokens_an_expert, kCountsWords[static_cast<std::size_t>(counts)], n, k);
  for (const char* kind : {"forward", "dgrad", "wgrad"}) {
    const cuda::Products p = product(kind, o, m.experts);
    std::vector<std::function<void()>> works;
    std::vector<std::string> names;
    for (const BuiltTiling& t : built_tilings()) {
      if (t.kind != kind) continue;
      for (const Walked& walk : kWalks) {
        names.push_back(fmt::format("{} {}{}", t.kind, t.name, walk.name));
        works.emplace_back([&] { t.multiply(r, p, walk.other_side, walk.swizzle); });
      }
    }
    const std::vector<double> seconds = b.medians_in_turns(works);
    for (std::size_t i = 0; i < names.size(); ++i) {
      b.product_took(names[i], shape, flops, seconds[i]);
    }
  }
}

int run(int runs) {
  Bench b("", runs);
  cuda::Resources r(b.device(), std::size_t{64} << 20U);
  for (const Model& m : kModels) {
    for (const Counts counts : {Counts::even, Counts::routed}) {
      b.attempt("tilings", m.name, [&] { measure(b, r, m, 2 * m.f, m.h, "up", counts); });
      b.attempt("tilings", m.name, [&] { measure(b, r, m, m.h, m.f, "down", counts); });
    }
  }
  return b.errors() > 0 ? 5 : 0;
}

}  // namespace
}  // namespace pleat::bench

int main(int argc, char** argv) {
  try {
    return pleat::bench::run(argc > 1 ? std::atoi(argv[1]) : 5);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 5;
  }
}
