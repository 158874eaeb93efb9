// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/rank_runner.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include "backend/comm/thread_communicator.hpp"
#include "core/diagnostics.hpp"
#include "core/median.hpp"
#include "kernels/host_device.hpp"

namespace pleat {
namespace {

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

}  // namespace

std::unique_ptr<RankRunner> thread_ranks(int world) { return std::make_unique<ThreadRanks>(world); }

std::unique_ptr<RankRunner> job_ranks(const std::vector<std::unique_ptr<Transport>>& ranks,
                                      Devices devices) {
  return std::make_unique<JobRanks>(ranks, std::move(devices));
}

namespace {

constexpr int kBlocks = 5;  // the median of their means is the sample

// The first member's number, to all.
int agreed(Communicator& comm, int mine) {
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span<const int>(&mine, 1)),
                  std::as_writable_bytes(std::span(all)));
  return all.front();
}

}  // namespace

// Rank 0 of each group decides the number of repeats. A device's calls are enqueued: a block ends
// when they are done.
Timing time_on_ranks(RankRunner& runner, const RankGroups& groups, const TimingLimits& limits,
                     const std::function<RankCall(Communicator&, Device&)>& prepare) {
  Timing result;
  runner.run(groups, [&](int rank, Communicator& comm) {
    Device& device = runner.device(rank);
    const RankCall made = prepare(comm, device);
    if (!made.call) return;  // on no rank
    comm.barrier();          // allocation may wait for a GPU that waits in a collective
    made.call();
    device.synchronize();
    comm.barrier();
    const double trial = seconds_now();
    for (int i = 0; i < 3; ++i) made.call();
    device.synchronize();
    const double each = std::max(1e-7, (seconds_now() - trial) / 3);
    const int count = agreed(
        comm, std::clamp(static_cast<int>(limits.seconds / kBlocks / each), 1, limits.repeats));
    if (made.seconds) static_cast<void>(made.seconds());
    std::vector<double> blocks;
    for (int b = 0; b < kBlocks; ++b) {
      const double start = seconds_now();
      for (int i = 0; i < count; ++i) made.call();
      device.synchronize();
      blocks.push_back((made.seconds ? made.seconds() : seconds_now() - start) / count);
      comm.barrier();
    }
    if (made.each_rank) {
      const double mine = median(blocks);
      blocks.assign(static_cast<std::size_t>(comm.size()), 0);
      comm.all_gather(std::as_bytes(std::span(&mine, 1)),
                      std::as_writable_bytes(std::span(blocks)));
    }
    if (rank == 0) result = {blocks, kBlocks * count};
  });
  return result;
}

}  // namespace pleat
