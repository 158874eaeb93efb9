// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives over any transport, 1 KB to 4 MB.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "backend/comm/thread_transport.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr int kBlocks = 5;  // the median of their means is the sample

// One rank's buffers for a collective whose larger side has `bytes` bytes.
class RankWork {
 public:
  RankWork(Communicator& comm, Collective kind, std::int64_t bytes)
      : comm_(comm),
        kind_(kind),
        // Ranks pair up to a sum of zero, so that repeated reductions in place stay finite.
        whole_(static_cast<std::size_t>(bytes) / 4, comm.rank() % 2 == 0 ? 0.25f : -0.25f),
        other_(whole_.size(), 0.5f),
        part_(static_cast<std::size_t>(comm.size()), bytes / comm.size()) {}

  void run() {
    const auto members = static_cast<std::size_t>(comm_.size());
    const std::size_t share = whole_.size() / members;
    const std::span<float> all(whole_.data(), share * members);
    const std::span<float> mine(other_.data(), share);
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
                         std::as_writable_bytes(std::span<float>(other_.data(), all.size())),
                         part_);
        return;
      case Collective::send_recv:
        ping_pong();
        return;
    }
  }

 private:
  void ping_pong() {
    if (comm_.rank() == 0) {
      comm_.send(1, std::as_bytes(std::span<const float>(whole_)), 0);
      comm_.recv(1, std::as_writable_bytes(std::span<float>(other_)), 0);
    } else {
      comm_.recv(0, std::as_writable_bytes(std::span<float>(other_)), 0);
      comm_.send(0, std::as_bytes(std::span<const float>(whole_)), 0);
    }
  }

  Communicator& comm_;
  Collective kind_;
  std::vector<float> whole_, other_;
  std::vector<std::int64_t> part_;
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

std::vector<Rank> members_of(int rank, int group) {
  std::vector<Rank> members;
  for (int i = 0; i < group; ++i) members.push_back(Rank{rank / group * group + i});
  return members;
}

class JobRanks : public RankRunner {
 public:
  explicit JobRanks(const std::vector<std::unique_ptr<Transport>>& ranks) : ranks_(ranks) {}
  int world() const override { return ranks_.front()->world(); }
  int first_here() const override { return ranks_.front()->rank().value; }
  void run(int ranks, int group, const std::function<void(int, Communicator&)>& body) override {
    std::vector<std::jthread> pool;
    for (const auto& transport : ranks_) {
      if (transport->rank().value >= ranks) continue;
      pool.emplace_back([&] {
        const int rank = transport->rank().value;
        body(rank, *transport->group(members_of(rank, group)));
      });
    }
  }

 private:
  const std::vector<std::unique_ptr<Transport>>& ranks_;
};

// A new job each time, so that no more threads live than are asked for.
class ThreadRanks final : public RankRunner {
 public:
  explicit ThreadRanks(int world) : world_(world) {}
  int world() const override { return world_; }
  int first_here() const override { return 0; }
  void run(int ranks, int group, const std::function<void(int, Communicator&)>& body) override {
    const auto transports = make_thread_transports(ranks);
    JobRanks(transports).run(ranks, group, body);
  }

 private:
  int world_;
};

// The first member's number, to all.
int agreed(Communicator& comm, int mine) {
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span<const int>(&mine, 1)),
                  std::as_writable_bytes(std::span(all)));
  return all.front();
}

// One warm-up pair estimates the cost; rank 0 of each group decides the number of repeats.
Timing time_on_ranks(RankRunner& runner, int ranks, int group, const TimingLimits& limits,
                     const std::function<std::function<void()>(Communicator&)>& prepare) {
  Timing result;
  runner.run(ranks, group, [&](int rank, Communicator& comm) {
    const auto call = prepare(comm);
    call();
    comm.barrier();
    const double trial = seconds_now();
    for (int i = 0; i < 3; ++i) call();
    const double each = std::max(1e-7, (seconds_now() - trial) / 3);
    const int count = agreed(
        comm, std::clamp(static_cast<int>(limits.seconds / kBlocks / each), 1, limits.repeats));
    std::vector<double> blocks;
    for (int b = 0; b < kBlocks; ++b) {
      const double start = seconds_now();
      for (int i = 0; i < count; ++i) call();
      blocks.push_back((seconds_now() - start) / count);
      comm.barrier();
    }
    if (rank == 0) result = {blocks, kBlocks * count};
  });
  return result;
}

}  // namespace

std::unique_ptr<RankRunner> thread_ranks(int world) { return std::make_unique<ThreadRanks>(world); }

std::unique_ptr<RankRunner> job_ranks(const std::vector<std::unique_ptr<Transport>>& ranks) {
  return std::make_unique<JobRanks>(ranks);
}

std::vector<CollectivePoint> collective_points(int ranks) {
  constexpr std::array kAll = {Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_reduce, Collective::all_to_all,
                               Collective::send_recv};
  std::vector<CollectivePoint> points;
  for (const Collective kind : kAll) {
    for (std::int64_t bytes = 1024; bytes <= 4 * 1024 * 1024; bytes *= 4) {
      points.push_back({kind, kind == Collective::send_recv ? 2 : ranks, ranks, bytes});
    }
  }
  return points;
}

std::string name_of(const CollectivePoint& p) {
  return fmt::format("{} {} B, {} of {} ranks", name_of(p.kind), p.bytes, p.group, p.ranks);
}

Sample sample_of(const CollectivePoint& p, const Timing& t) {
  return {
      .name = name_of(p),
      .point = CollectiveSample{p.kind, p.group, p.ranks,
                                Bytes(wire_bytes(p.kind, p.group, static_cast<double>(p.bytes)))},
      .time = Seconds(median(t.seconds)),
      .repeats = t.repeats,
      .raw = t.seconds};
}

Timing time_collective(RankRunner& runner, const CollectivePoint& p, const TimingLimits& limits) {
  Timing t = time_on_ranks(runner, p.ranks, p.group, limits, [&](Communicator& comm) {
    auto work = std::make_shared<RankWork>(comm, p.kind, p.bytes);
    return [work] { work->run(); };
  });
  if (p.kind == Collective::send_recv) {
    for (double& s : t.seconds) s /= 2;  // there and back
  }
  return t;
}

Timing time_barrier(RankRunner& runner, int ranks, const TimingLimits& limits) {
  return time_on_ranks(runner, ranks, ranks, limits,
                       [](Communicator& comm) { return [&comm] { comm.barrier(); }; });
}

}  // namespace pleat
