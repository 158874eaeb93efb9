// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which collectives are measured, and how their points are called.
#include <fmt/format.h>

#include <array>

#include "calibration/microbench/expert_rows.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {

std::vector<CollectivePoint> collective_points(int ranks, std::int64_t most_bytes) {
  constexpr std::array kAll = {Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_reduce, Collective::all_to_all,
                               Collective::send_recv};
  std::vector<CollectivePoint> points;
  for (const Collective kind : kAll) {
    for (std::int64_t bytes = 1024; bytes <= most_bytes; bytes *= 4) {
      points.push_back({kind, kind == Collective::send_recv ? 2 : ranks, ranks, bytes});
    }
  }
  return points;
}

std::vector<CollectivePoint> concurrent_points(int ranks, std::int64_t most_bytes) {
  constexpr std::array kAll = {Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_reduce, Collective::all_to_all,
                               Collective::send_recv};
  std::vector<CollectivePoint> points;
  for (int group = 2; 2 * group <= ranks; group *= 2) {
    for (const int stride : {1, ranks / group}) {
      for (const Collective kind : kAll) {
        // Of neighbours it is among the points above.
        if (kind == Collective::send_recv && (group != 2 || stride == 1)) continue;
        for (std::int64_t bytes = 65536; bytes <= most_bytes; bytes *= 32) {
          points.push_back({kind, group, ranks / (group * stride) * group * stride, bytes, stride});
        }
      }
    }
  }
  return points;
}

std::vector<CollectivePoint> in_windows(const std::vector<CollectivePoint>& points) {
  std::vector<CollectivePoint> some;
  for (CollectivePoint p : points) {
    if (p.kind == Collective::all_to_all || p.kind == Collective::send_recv) continue;  // messages
    p.windows = true;
    some.push_back(p);
  }
  return some;
}

namespace {

std::string variant_of(const CollectivePoint& p) {
  if (p.rows != RowShares::even) return fmt::format(" ({})", name_of(p.rows));
  if (p.type != DType::fp32) return fmt::format(" ({})", name_of(p.type));
  switch (p.messages) {
    case Messages::ping_pong:
      return "";
    case Messages::both_ways:
      return " (both ways)";
    case Messages::in_one_call:
      return " (in one call)";
  }
  return "";
}

}  // namespace

std::string name_of(const CollectivePoint& p) {
  return fmt::format("{}{} {} B, {} of {} ranks{}{}", name_of(p.kind), variant_of(p), p.bytes,
                     p.group, p.ranks, p.stride > 1 ? fmt::format(", {} apart", p.stride) : "",
                     p.windows ? kInWindows : "");
}

}  // namespace pleat
