// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives over any transport, of host memory or of devices'.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "backend/comm/thread_transport.hpp"
#include "backend/runtime/slab.hpp"
#include "calibration/microbench/points.hpp"
#include "core/diagnostics.hpp"
#include "kernels/host_device.hpp"

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
    window_ = comm.register_window(
        {.memory = slab_->slab.whole(), .group = fmt::format("{} ranks", comm.size()), .announced = false});
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

std::vector<Rank> members_of(int rank, int group, int stride) {
  const int first = rank / (group * stride) * group * stride + rank % stride;
  std::vector<Rank> members;
  for (int i = 0; i < group; ++i) members.push_back(Rank{first + i * stride});
  return members;
}

class JobRanks : public RankRunner {
 public:
  JobRanks(const std::vector<std::unique_ptr<Transport>>& ranks, Devices devices)
      : ranks_(ranks), devices_(std::move(devices)) {
    PLEAT_ASSERT(devices_.empty() || devices_.size() == ranks.size());
  }
  int world() const override { return ranks_.front()->world(); }
  int first_here() const override { return ranks_.front()->rank().value; }
  Device& device(int rank) override {
    return devices_.empty() ? *host_ : *devices_[static_cast<std::size_t>(rank - first_here())];
  }
  // What one rank throws ends the others' waits, and is thrown here.
  void run(const RankGroups& groups,
           const std::function<void(int, Communicator&)>& body) override {
    std::mutex mutex;
    std::exception_ptr thrown;
    {
      std::vector<std::jthread> pool;
      for (const auto& transport : ranks_) {
        if (transport->rank().value >= groups.ranks) continue;
        pool.emplace_back([&] {
          const int rank = transport->rank().value;
          try {
            device(rank).synchronize();  // makes a GPU the current one of this thread
            const auto own = groups.fresh ? make(*transport, groups) : nullptr;
            body(rank, own != nullptr ? *own : kept(*transport, groups));
          } catch (const std::exception& e) {
            transport->abort(e.what());
            const std::scoped_lock lock(mutex);
            if (!thrown) thrown = std::current_exception();
          }
        });
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  std::unique_ptr<Communicator> make(Transport& transport, const RankGroups& groups) {
    const int rank = transport.rank().value;
    return transport.group_on(device(rank), members_of(rank, groups.group, groups.stride));
  }
  // NCCL takes a second to make one, and every point of the same groups needs it.
  Communicator& kept(Transport& transport, const RankGroups& groups) {
    const std::array key{transport.rank().value, groups.group, groups.stride};
    {
      const std::scoped_lock lock(mutex_);
      const auto found = communicators_.find(key);
      if (found != communicators_.end()) return *found->second;
    }
    auto made = make(transport, groups);
    const std::scoped_lock lock(mutex_);
    return *(communicators_[key] = std::move(made));
  }

  const std::vector<std::unique_ptr<Transport>>& ranks_;
  Devices devices_;
  std::unique_ptr<Device> host_ = host_device();
  std::mutex mutex_;
  std::map<std::array<int, 3>, std::unique_ptr<Communicator>> communicators_;
};

// A new job each time, so that no more threads live than are asked for.
class ThreadRanks final : public RankRunner {
 public:
  explicit ThreadRanks(int world) : world_(world) {}
  int world() const override { return world_; }
  int first_here() const override { return 0; }
  Device& device(int) override { return *host_; }
  void run(const RankGroups& groups,
           const std::function<void(int, Communicator&)>& body) override {
    const auto transports = make_thread_transports(groups.ranks);
    JobRanks(transports, {}).run(groups, body);
  }

 private:
  int world_;
  std::unique_ptr<Device> host_ = host_device();
};

// The first member's number, to all.
int agreed(Communicator& comm, int mine) {
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span<const int>(&mine, 1)),
                  std::as_writable_bytes(std::span(all)));
  return all.front();
}

// One warm-up pair estimates the cost; rank 0 of each group decides the number of repeats. A device's
// calls are enqueued: a block ends when they are done.
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

std::unique_ptr<RankRunner> thread_ranks(int world) { return std::make_unique<ThreadRanks>(world); }

std::unique_ptr<RankRunner> job_ranks(const std::vector<std::unique_ptr<Transport>>& ranks,
                                      Devices devices) {
  return std::make_unique<JobRanks>(ranks, std::move(devices));
}

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

std::string name_of(const CollectivePoint& p) {
  return fmt::format("{} {} B, {} of {} ranks{}{}", name_of(p.kind), p.bytes, p.group, p.ranks,
                     p.stride > 1 ? fmt::format(", {} apart", p.stride) : "",
                     p.windows ? kInWindows : "");
}

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
