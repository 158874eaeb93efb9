// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The ranks that a calibration measures collectives on, and how a call of all of them is timed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "calibration/microbench/clock.hpp"

namespace pleat {

// Ranks 0 to ranks - 1 in groups of `group`, whose members are `stride` apart.
struct RankGroups {
  int ranks = 0;
  int group = 0;
  int stride = 1;
  bool fresh = false;  // communicators of their own: a window is registered once for each
};

// The ranks that collectives are measured on: threads of this process, or this process's part of a
// job of several. run() calls body(rank, its group's communicator) on every rank that is here; all
// processes of the job call it with the same arguments. A group's communicator may be kept for the
// next run of the same groups.
class RankRunner {
 public:
  virtual ~RankRunner() = default;
  [[nodiscard]] virtual int world() const = 0;
  [[nodiscard]] virtual int first_here() const = 0;  // the lowest rank of this process
  [[nodiscard]] bool has_first() const { return first_here() == 0; }
  // Where a rank's data lie; it outlives the runner's communicators.
  [[nodiscard]] virtual Device& device(int rank) = 0;
  virtual void run(const RankGroups&, const std::function<void(int, Communicator&)>& body) = 0;
};
[[nodiscard]] std::unique_ptr<RankRunner> thread_ranks(int world);
// Ranks of a job, by their transports; they outlive the runner. devices: one for each, whose memory
// is exchanged as the transport does it for training; none: the host's.
using Devices = std::vector<std::unique_ptr<Device>>;
[[nodiscard]] std::unique_ptr<RankRunner> job_ranks(const std::vector<std::unique_ptr<Transport>>&,
                                                    Devices devices = {});

// How a call that all ranks make together is timed: means of blocks of calls, rank 0's or
// each rank's.

struct RankCall {
  std::function<void()> call;  // none: no rank has it, and nothing is measured
  // Seconds of all calls since it was last asked; none: the clock's, with the device idle before
  // and after a block.
  std::function<double()> seconds = {};
  // The result has a time for each rank in place of rank 0's blocks: the median of its own. Of all
  // ranks in one group, and the same on each; rank 0's counts.
  bool each_rank = false;
};

// `prepare` is called on every rank that is here. A first call warms up, three more tell how many
// make a block: limits.seconds are shared by the blocks.
[[nodiscard]] Timing time_on_ranks(RankRunner&, const RankGroups&, const TimingLimits&,
                                   const std::function<RankCall(Communicator&, Device&)>& prepare);

}  // namespace pleat
