// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives between ranks: which are measured, how their points are called, and their times.
#include <fmt/format.h>

#include <array>

#include "calibration/microbench/expert_rows.hpp"
#include "calibration/microbench/points.hpp"
#include "calibration/microbench/rank_runner.hpp"
#include "calibration/microbench/rank_work.hpp"
#include "core/median.hpp"

namespace pleat {

Sample sample_of(const CollectivePoint& p, const Timing& t) {
  return {.name = name_of(p),
          .point = CollectiveSample{p.kind, p.group, p.ranks, Bytes(wire_bytes(p)), p.stride,
                                    p.windows, p.type, judged_as(p)},
          .time = Seconds(median(t.seconds)),
          .repeats = t.repeats,
          .raw = t.seconds};
}

Timing time_collective(RankRunner& runner, const CollectivePoint& p, const TimingLimits& limits) {
  const auto prepare = [&](Communicator& comm, Device& device) -> RankCall {
    auto work = std::make_shared<RankWork>(comm, device, p);
    if (p.windows && !work->in_window()) return {};
    return {.call = [work] { work->run(); }};
  };
  Timing t = time_on_ranks(runner, {p.ranks, p.group, p.stride, p.windows}, limits, prepare);
  if (p.kind == Collective::send_recv && p.messages == Messages::ping_pong) {
    for (double& s : t.seconds) s /= 2;  // there and back
  }
  return t;
}

Timing time_barrier(RankRunner& runner, int ranks, const TimingLimits& limits) {
  return time_on_ranks(runner, {.ranks = ranks, .group = ranks}, limits,
                       [](Communicator& comm, Device&) -> RankCall {
                         return {.call = [&comm] { comm.barrier(); }};
                       });
}

// Which collectives are measured, and how their points are called.

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
