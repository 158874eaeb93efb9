// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat_gpu_benchmarks SECTION|all [part of a kernel's name] [runs]: one JSON object a line on
// stdout. pleat_gpu_benchmarks --list: the sections, a line each.
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "kernels/cuda/implementation.hpp"
#include "tests/benchmarks/gpu/bench.hpp"

namespace pleat::bench {

std::span<const Section> sections() {
  static constexpr Section kSections[] = {
      {"memory", memory_bound_kernels}, {"tokens", token_kernels},
      {"dense", dense_products},        {"grouped", grouped_products},
      {"attention", attention_kernels}, {"quantize", quantizing},
      {"narrow", narrow_products}};
  return kSections;
}

namespace {

int run(const std::string& section, const char* filter, int runs) {
  Bench b(filter, runs);
  fmt::print(stderr, "{}\n", cuda::library_line());
  fmt::print("{{\"kernel\": \"copy\", \"GBps\": {:.1f}}}\n", b.copy_bandwidth() * 1e-9);
  bool found = false;
  for (const Section& s : sections()) {
    if (section != "all" && section != s.name) continue;
    found = true;
    b.attempt(s.name, "all that follow", [&] { s.run(b); });
  }
  if (found) return b.errors() > 0 ? 5 : 0;
  fmt::print(stderr, "no section \"{}\"; --list shows them\n", section);
  return 2;
}

}  // namespace
}  // namespace pleat::bench

int main(int argc, char** argv) {
  using namespace pleat;
  const std::string section = argc > 1 ? argv[1] : "all";
  if (section == "--list") {
    for (const bench::Section& s : bench::sections()) fmt::print("{}\n", s.name);
    return 0;
  }
  try {
    if (cuda::device_count() == 0) {
      fmt::print(stderr, "no GPU: nothing is measured\n");
      return 5;  // what has not been measured is not done
    }
    return bench::run(section, argc > 2 ? argv[2] : "", argc > 3 ? std::atoi(argv[3]) : 50);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 5;
  }
}
