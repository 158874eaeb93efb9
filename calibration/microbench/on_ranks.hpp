// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a call that all ranks make together is timed: means of blocks of calls, rank 0's or
// each rank's.
#pragma once

#include <functional>

#include "calibration/microbench/clock.hpp"
#include "calibration/microbench/rank_runner.hpp"

namespace pleat {

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
