// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives over the thread transport, 1 KB to 4 MB, every rank a thread.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
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

// Runs body(rank, communicator of the rank's group) on every rank of a job. Groups are
// consecutive ranks.
void run_ranks(int ranks, int group, const std::function<void(int, Communicator&)>& body) {
  auto transports = make_thread_transports(ranks);
  std::vector<std::jthread> pool;
  for (int r = 0; r < ranks; ++r) {
    pool.emplace_back([&, r] {
      std::vector<Rank> members;
      for (int i = 0; i < group; ++i) members.push_back(Rank{r / group * group + i});
      const auto comm = transports[static_cast<std::size_t>(r)]->group(members);
      body(r, *comm);
    });
  }
  pool.clear();  // joins before the transports go
}

struct Timing {
  double seconds = 0;
  int repeats = 0;
};

// One warm-up pair estimates the cost; rank 0 of each group decides the number of repeats.
Timing time_on_ranks(int ranks, int group, const TimingLimits& limits,
                     const std::function<std::function<void()>(Communicator&)>& prepare) {
  Timing result;
  std::vector<std::atomic<int>> repeats(static_cast<std::size_t>(ranks / group));
  run_ranks(ranks, group, [&](int rank, Communicator& comm) {
    const auto call = prepare(comm);
    std::atomic<int>& count = repeats[static_cast<std::size_t>(rank / group)];
    call();
    comm.barrier();
    const double trial = seconds_now();
    for (int i = 0; i < 3; ++i) call();
    if (comm.rank() == 0) {
      const double each = std::max(1e-7, (seconds_now() - trial) / 3);
      count = std::clamp(static_cast<int>(limits.seconds / kBlocks / each), 1, limits.repeats);
    }
    comm.barrier();
    std::vector<double> blocks;
    for (int b = 0; b < kBlocks; ++b) {
      const double start = seconds_now();
      for (int i = 0; i < count; ++i) call();
      blocks.push_back((seconds_now() - start) / count);
      comm.barrier();
    }
    if (rank == 0) result = {median(blocks), kBlocks * count};
  });
  return result;
}

}  // namespace

std::vector<Sample> time_collectives(int ranks, const TimingLimits& limits) {
  constexpr std::array kAll = {Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_reduce, Collective::all_to_all,
                               Collective::send_recv};
  std::vector<Sample> samples;
  for (const Collective kind : kAll) {
    const bool pairs = kind == Collective::send_recv;
    const int group = pairs ? 2 : ranks;
    for (std::int64_t bytes = 1024; bytes <= 4 * 1024 * 1024; bytes *= 4) {
      const Timing t = time_on_ranks(ranks, group, limits, [&](Communicator& comm) {
        auto work = std::make_shared<RankWork>(comm, kind, bytes);
        return [work] { work->run(); };
      });
      samples.push_back(
          {.name = fmt::format("{} {} B, {} of {} ranks", name_of(kind), bytes, group, ranks),
           .point = CollectiveSample{kind, group, ranks,
                                     Bytes(wire_bytes(kind, group, static_cast<double>(bytes)))},
           .time = Seconds(t.seconds / (pairs ? 2 : 1)),  // there and back
           .repeats = t.repeats});
    }
  }
  return samples;
}

Seconds time_barrier(int ranks, const TimingLimits& limits) {
  const Timing t = time_on_ranks(ranks, ranks, limits,
                                 [](Communicator& comm) { return [&comm] { comm.barrier(); }; });
  return Seconds(t.seconds);
}

}  // namespace pleat
