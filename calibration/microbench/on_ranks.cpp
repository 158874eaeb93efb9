// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/on_ranks.hpp"

#include <algorithm>
#include <span>

namespace pleat {
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
