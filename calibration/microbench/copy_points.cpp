// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/copy_points.hpp"

#include <fmt/format.h>

#include "calibration/microbench/bench.hpp"

namespace pleat {
namespace {

constexpr std::size_t kBeside = std::size_t{1} << 28U;  // bytes copied beside work each way

struct Way {
  bool up, down;
};

std::string way_of(const CopyPoint& p) {
  if (p.up && p.down) return "both_ways";
  return p.up ? "host_to_device" : "device_to_host";
}

const char* name_of(CopiesBeside beside) {
  return beside == CopiesBeside::attention ? "attention" : "product";
}

}  // namespace

std::vector<CopyPoint> copy_points() {
  std::vector<CopyPoint> points;
  for (std::size_t bytes = 65536; bytes <= (std::size_t{1} << 30U); bytes *= 8) {
    for (const auto& [up, down] : {Way{true, false}, {false, true}, {true, true}})
      points.push_back({up, down, bytes});
  }
  for (const CopiesBeside beside : {CopiesBeside::product, CopiesBeside::attention}) {
    for (const auto& [up, down] : {Way{false, false}, {true, false}, {false, true}, {true, true}})
      points.push_back({up, down, kBeside, beside});
  }
  return points;
}

std::string what_of(const CopyPoint& p) {
  if (p.beside == CopiesBeside::nothing) return way_of(p);
  if (!p.up && !p.down) return fmt::format("{} alone", name_of(p.beside));
  return fmt::format("{} beside {}", name_of(p.beside), way_of(p));
}

std::string name_of(const CopyPoint& p) {
  switch (p.beside) {
    case CopiesBeside::nothing:
      return fmt::format("{} {} B", what_of(p), p.bytes);
    case CopiesBeside::product:
      return fmt::format("{0} of {1}x{1}x{1}", what_of(p), kCopyProduct);
    case CopiesBeside::attention:
      return fmt::format("{} of {} tokens", what_of(p), kCopyAttention);
  }
  return "?";
}

double share_of(const CopyPoint& p) {
  return p.beside == CopiesBeside::attention ? kJudgedShare : 1;
}

}  // namespace pleat
