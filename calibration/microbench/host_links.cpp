// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/host_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "calibration/microbench/bench.hpp"
#include "calibration/microbench/overlap.hpp"
#include "calibration/microbench/rank_runner.hpp"
#include "core/median.hpp"

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

namespace {

// Two buffers of the device's and two of the host's, pinned: one pair each way.
class HostCopies {
 public:
  HostCopies(Device& device, const HostLinkPoint& p) : device_(device), point_(p) {
    for (std::byte*& data : on_device_) data = device.memory().allocate(p.bytes);
    for (std::byte*& data : on_host_) data = device.host_memory().allocate(p.bytes);
    for (std::byte* data : on_device_) device.memory().fill(data, 1, p.bytes);
    for (std::byte* data : on_host_) device.host_memory().fill(data, 1, p.bytes);  // its pages
  }
  ~HostCopies() {
    for (std::byte* data : on_device_) device_.memory().release(data);
    for (std::byte* data : on_host_) device_.host_memory().release(data);
  }
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  void run() {
    if (point_.up && point_.down) {
      side_by_side(
          device_, [this] { down(); }, [this] { up(); });
    } else if (point_.up) {
      up();
    } else {
      down();
    }
  }

 private:
  void up() { device_.enqueue_copy(on_device_[0], on_host_[0], point_.bytes); }
  void down() { device_.enqueue_copy(on_host_[1], on_device_[1], point_.bytes); }

  Device& device_;
  HostLinkPoint point_;
  std::byte *on_device_[2] = {}, *on_host_[2] = {};
};

const char* way_of(const HostLinkPoint& p) {
  if (p.up && p.down) return "both_ways";
  return p.up ? "host_to_device" : "device_to_host";
}

}  // namespace

std::vector<HostLinkPoint> host_link_points(int ranks, std::int64_t bytes) {
  std::vector<HostLinkPoint> points;
  if (ranks < 2) return points;
  for (const bool alone : {true, false}) {
    points.push_back({true, false, alone, ranks, bytes});
    points.push_back({false, true, alone, ranks, bytes});
    points.push_back({true, true, alone, ranks, bytes});
  }
  return points;
}

std::string name_of(const HostLinkPoint& p) {
  return fmt::format("host links: {} {} B, {} of {} ranks", way_of(p), p.bytes,
                     p.alone ? 1 : p.ranks, p.ranks);
}

Timing time_host_link(RankRunner& runner, const HostLinkPoint& p, const TimingLimits& limits) {
  return time_on_ranks(runner, {.ranks = p.ranks, .group = p.ranks}, limits,
                       [&](Communicator& comm, Device& device) -> RankCall {
                         if (p.alone && comm.rank() != 0) return {.call = [] {}};
                         const auto copies = std::make_shared<HostCopies>(device, p);
                         return {.call = [copies] { copies->run(); }, .each_rank = !p.alone};
                       });
}

Sample sample_of(const HostLinkPoint& p, const Timing& t) {
  const double slowest = p.alone || t.seconds.empty()
                             ? median(t.seconds)
                             : *std::max_element(t.seconds.begin(), t.seconds.end());
  return {.name = name_of(p),
          .point = OtherSample{fmt::format("{} of {}", way_of(p),
                                           p.alone ? "one rank" : "all ranks at once"),
                               Bytes(static_cast<double>(p.bytes))},
          .time = Seconds(slowest),
          .repeats = t.repeats,
          .raw = t.seconds};
}

}  // namespace pleat
