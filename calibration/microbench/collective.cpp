// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives over any transport, of host memory or of devices'.
#include <fmt/format.h>

#include <algorithm>

#include "backend/runtime/slab.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr int kBlocks = 5;  // the median of their means is the sample

// Floats in memory of a device's, all `value` at first.
class Floats {
 public:
  Floats(Device& device, Memory& memory, std::size_t count, float value)
      : memory_(memory),
        data_(memory_.allocate(static_cast<std::int64_t>(count * sizeof(float)))),
        count_(count) {
    const std::vector<float> some(std::min(count, std::size_t{1} << 20U), value);
    for (std::size_t at = 0; at < count; at += some.size()) {
      const std::size_t now = std::min(some.size(), count - at);
      device.copy(data_ + at * sizeof(float), some.data(),
                  static_cast<std::int64_t>(now * sizeof(float)));
    }
  }
  ~Floats() { memory_.release(data_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  [[nodiscard]] std::span<float> first(std::size_t count) const {
    return {reinterpret_cast<float*>(data_), count};
  }
  [[nodiscard]] std::span<float> all() const { return first(count_); }

 private:
  Memory& memory_;
  std::byte* data_;
  std::size_t count_;
};

// One rank's buffers for a collective whose larger side has `bytes` bytes.
class RankWork {
 public:
  RankWork(Communicator& comm, Device& device, const CollectivePoint& p)
      : comm_(comm),
        kind_(p.kind),
        count_(static_cast<std::size_t>(p.bytes) / 4),
        slab_(p.windows ? slab_of(comm, device, p.bytes) : nullptr),
        // Ranks pair up to a sum of zero, so that repeated reductions in place stay finite.
        whole_(device, memory_of(device), count_, comm.rank() % 2 == 0 ? 0.25f : -0.25f),
        other_(device, memory_of(device), count_, 0.5f),
        part_(static_cast<std::size_t>(comm.size()), p.bytes / comm.size() / 4 * 4) {
    if (slab_ == nullptr) return;
    window_ = comm.register_window({.memory = slab_->slab.whole(),
                                    .group = fmt::format("{} ranks", comm.size()),
                                    .announced = false});
  }
  [[nodiscard]] bool in_window() const { return window_ != nullptr; }

  void run() {
    const auto members = static_cast<std::size_t>(comm_.size());
    const std::size_t share = count_ / members;
    const std::span<float> all = whole_.first(share * members), mine = other_.first(share);
    switch (kind_) {
      case Collective::all_gather:
        comm_.all_gather(std::as_bytes(mine), std::as_writable_bytes(all));
        return;
      case Collective::reduce_scatter:
        comm_.reduce_scatter(all, mine);
        return;
      case Collective::all_reduce:
        comm_.all_reduce(all);
        return;
      case Collective::all_to_all:
        comm_.all_to_all(std::as_bytes(all), part_,
                         std::as_writable_bytes(other_.first(all.size())),
                         part_);
        return;
      case Collective::send_recv:
        ping_pong();
        return;
    }
  }

 private:
  struct OneSlab {
    OneSlab(std::unique_ptr<Memory> of, std::int64_t bytes, Device& device)
        : memory(std::move(of)), slab(*memory, 2 * Slab::room(bytes), device.memory()) {}
    std::unique_ptr<Memory> memory;
    Slab slab;
  };
  static std::unique_ptr<OneSlab> slab_of(Communicator& comm, Device& device, std::int64_t bytes) {
    auto memory = comm.window_memory();
    if (memory == nullptr) return nullptr;
    return std::make_unique<OneSlab>(std::move(memory), bytes, device);
  }
  Memory& memory_of(Device& device) { return slab_ != nullptr ? slab_->slab : device.memory(); }
  void ping_pong() {
    if (comm_.rank() == 0) {
      comm_.send(1, std::as_bytes(whole_.all()), 0);
      comm_.recv(1, std::as_writable_bytes(other_.all()), 0);
    } else {
      comm_.recv(0, std::as_writable_bytes(other_.all()), 0);
      comm_.send(0, std::as_bytes(whole_.all()), 0);
    }
  }

  Communicator& comm_;
  Collective kind_;
  std::size_t count_;
  std::unique_ptr<OneSlab> slab_;  // of both buffers, for a window
  Floats whole_, other_;
  std::vector<std::int64_t> part_;
  std::shared_ptr<void> window_;
};

// Bytes one of `n` ranks sends when the larger side has `bytes` bytes.
double wire_bytes(Collective kind, int n, double bytes) {
  const double others = static_cast<double>(n - 1) / n;
  switch (kind) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return bytes * others;
    case Collective::all_reduce:
      return 2 * bytes * others;
    case Collective::send_recv:
      return bytes;
  }
  return 0;
}

// The first member's number, to all.
int agreed(Communicator& comm, int mine) {
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span<const int>(&mine, 1)),
                  std::as_writable_bytes(std::span(all)));
  return all.front();
}

// One warm-up pair estimates the cost; rank 0 of each group decides the number of repeats. A
// device's calls are enqueued: a block ends when they are done.
Timing time_on_ranks(RankRunner& runner, const CollectivePoint& p, const TimingLimits& limits,
                     const std::function<std::function<void()>(Communicator&, Device&)>& prepare) {
  Timing result;
  const RankGroups groups{p.ranks, p.group, p.stride, p.windows};
  runner.run(groups, [&](int rank, Communicator& comm) {
    Device& device = runner.device(rank);
    const auto call = prepare(comm, device);
    if (!call) return;  // on no rank
    comm.barrier();  // allocation may wait for a GPU that waits in a collective
    call();
    device.synchronize();
    comm.barrier();
    const double trial = seconds_now();
    for (int i = 0; i < 3; ++i) call();
    device.synchronize();
    const double each = std::max(1e-7, (seconds_now() - trial) / 3);
    const int count = agreed(
        comm, std::clamp(static_cast<int>(limits.seconds / kBlocks / each), 1, limits.repeats));
    std::vector<double> blocks;
    for (int b = 0; b < kBlocks; ++b) {
      const double start = seconds_now();
      for (int i = 0; i < count; ++i) call();
      device.synchronize();
      blocks.push_back((seconds_now() - start) / count);
      comm.barrier();
    }
    if (rank == 0) result = {blocks, kBlocks * count};
  });
  return result;
}

}  // namespace

Sample sample_of(const CollectivePoint& p, const Timing& t) {
  return {
      .name = name_of(p),
      .point = CollectiveSample{p.kind, p.group, p.ranks,
                                Bytes(wire_bytes(p.kind, p.group, static_cast<double>(p.bytes))),
                                p.stride, p.windows},
      .time = Seconds(median(t.seconds)),
      .repeats = t.repeats,
      .raw = t.seconds};
}

Timing time_collective(RankRunner& runner, const CollectivePoint& p, const TimingLimits& limits) {
  const auto prepare = [&](Communicator& comm, Device& device) -> std::function<void()> {
    auto work = std::make_shared<RankWork>(comm, device, p);
    if (p.windows && !work->in_window()) return {};
    return [work] { work->run(); };
  };
  Timing t = time_on_ranks(runner, p, limits, prepare);
  if (p.kind == Collective::send_recv) {
    for (double& s : t.seconds) s /= 2;  // there and back
  }
  return t;
}

Timing time_barrier(RankRunner& runner, int ranks, const TimingLimits& limits) {
  return time_on_ranks(runner, {.group = ranks, .ranks = ranks}, limits,
                       [](Communicator& comm, Device&) { return [&comm] { comm.barrier(); }; });
}

}  // namespace pleat
