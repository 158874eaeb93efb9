// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat_gpu_benchmarks [part of a kernel's name] [runs]: one JSON object a line on stdout.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>

#include "tests/benchmarks/gpu/bench.hpp"

int main(int argc, char** argv) {
  using namespace pleat;
  try {
    if (cuda::device_count() == 0) {
      fmt::print(stderr, "no GPU: nothing is measured\n");
      return 0;
    }
    bench::Bench b(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 50);
    fmt::print("{{\"kernel\": \"copy\", \"GBps\": {:.1f}}}\n", b.copy_bandwidth() * 1e-9);
    bench::memory_bound_kernels(b);
    bench::token_kernels(b);
    bench::dense_products(b);
    bench::grouped_products(b);
    bench::attention_kernels(b);
    bench::narrow_kernels(b);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 5;
  }
  return 0;
}
