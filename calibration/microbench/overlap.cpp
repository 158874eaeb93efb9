// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/overlap.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/microbench/rank_runner.hpp"
#include "calibration/microbench/rank_work.hpp"
#include "core/median.hpp"

namespace pleat {

void side_by_side(Device& device, const std::function<void()>& first,
                  const std::function<void()>& other) {
  if (!device.has_streams()) {
    first();
    other();
    return;
  }
  const std::uint64_t begin = device.mark();
  first();
  device.take_stream(kOverlapStream);
  device.wait_for(0, begin);
  other();
  const std::uint64_t end = device.mark();
  device.take_stream(0);
  device.wait_for(kOverlapStream, end);
}

namespace {

std::string part_of(const OverlapPoint& p) {
  switch (p.part) {
    case OverlapPart::work:
      return fmt::format("{} alone", name_of(p.work));
    case OverlapPart::collective:
      return "alone";
    case OverlapPart::both:
      return fmt::format("and {}", name_of(p.work));
    case OverlapPart::work_beside:
      return fmt::format("beside {}", name_of(p.work));
  }
  return "?";
}

std::string what_of(const OverlapPoint& p) {
  const char *const kind = name_of(p.collective.kind), *const work = name_of(p.work);
  switch (p.part) {
    case OverlapPart::work:
      return fmt::format("{} of ranks alone", work);
    case OverlapPart::collective:
      return fmt::format("{} beside nothing", kind);
    case OverlapPart::both:
      return fmt::format("{} and {}", work, kind);
    case OverlapPart::work_beside:
      return fmt::format("{} beside {}", work, kind);
  }
  return "?";
}

}  // namespace

std::vector<OverlapPoint> overlap_points(int ranks, const StreamWorkSizes& sizes,
                                         std::int64_t most_bytes) {
  std::vector<OverlapPoint> points;
  if (sizes.n == 0 || ranks < 2) return points;
  const std::int64_t bytes = std::min(kOverlapBytes, most_bytes);
  for (const StreamWorkKind work : {StreamWorkKind::product, StreamWorkKind::attention,
                                    StreamWorkKind::swiglu, StreamWorkKind::copy_to_host}) {
    if (size_of(work, sizes) == 0) continue;
    const bool first = work == StreamWorkKind::product;
    points.push_back(
        {OverlapPart::work, {.group = ranks, .ranks = ranks, .bytes = bytes}, work, sizes});
    for (const Collective kind :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
          Collective::all_to_all, Collective::send_recv}) {
      CollectivePoint c{.kind = kind, .group = ranks, .ranks = ranks, .bytes = bytes};
      if (kind == Collective::send_recv) {
        c.group = 2;
        c.ranks = ranks / 2 * 2;
        c.messages = Messages::in_one_call;  // others have streams of their own, behind the work
      }
      if (first) points.push_back({OverlapPart::collective, c, work, sizes});
      for (const OverlapPart part : {OverlapPart::both, OverlapPart::work_beside})
        points.push_back({part, c, work, sizes});
    }
  }
  return points;
}

std::string name_of(const OverlapPoint& p) {
  const std::string size = label_of(p.work, p.sizes);
  if (p.part == OverlapPart::work) {
    return fmt::format(
        "overlap: {}, {}, {} ranks", part_of(p),
        p.work == StreamWorkKind::product ? fmt::format("{0}x{0}x{0}", p.sizes.n) : size,
        p.collective.ranks);
  }
  return fmt::format("overlap: {}, {}, {}", name_of(p.collective), part_of(p), size);
}

Sample sample_of(const OverlapPoint& p, const Timing& t) {
  const double bytes = p.part == OverlapPart::work ? 0 : wire_bytes(p.collective);
  return {.name = name_of(p),
          .point = OtherSample{what_of(p), Bytes(bytes)},
          .time = Seconds(median(t.seconds)),
          .repeats = t.repeats,
          .raw = t.seconds};
}

Timing time_overlap(RankRunner& runner, const OverlapPoint& p, const TimingLimits& limits) {
  const CollectivePoint& c = p.collective;
  const auto prepare = [&](Communicator& comm, Device& device) -> RankCall {
    if (p.part == OverlapPart::collective) {
      const auto exchange = std::make_shared<RankWork>(comm, device, c);
      return {.call = [&device, exchange] {
        side_by_side(
            device, [] {}, [&] { exchange->run(); });
      }};
    }
    const auto work = std::make_shared<StreamWork>(device, p.work, p.sizes);
    if (p.part == OverlapPart::work) {
      return {.call = [work] { work->run_timed(); }, .seconds = [work] { return work->seconds(); }};
    }
    const auto exchange = std::make_shared<RankWork>(comm, device, c);
    if (p.part == OverlapPart::both) {
      return {.call = [&device, work, exchange] {
        side_by_side(
            device, [&] { work->run(); }, [&] { exchange->run(); });
      }};
    }
    return {.call =
                [&device, work, exchange] {
                  side_by_side(
                      device, [&] { work->run_timed(); }, [&] { exchange->run(); });
                },
            .seconds = [work] { return work->seconds(); }};
  };
  return time_on_ranks(runner, {.ranks = c.ranks, .group = c.group, .stride = c.stride}, limits,
                       prepare);
}

}  // namespace pleat
