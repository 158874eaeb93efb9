// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives between ranks, timed.
#include "calibration/microbench/on_ranks.hpp"
#include "calibration/microbench/points.hpp"
#include "calibration/microbench/rank_work.hpp"

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

}  // namespace pleat
