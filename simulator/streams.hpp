// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The in-order streams of one rank: when each op runs, and which rubric every moment belongs to.
#pragma once

#include <span>
#include <vector>

#include "simulator/layer_costs.hpp"

namespace pleat {

// An op in issue order. `after`: earlier entries it must follow.
struct StreamOp {
  Seconds duration;         // alone on the device
  CostClass cls = CostClass::memory_bound;
  Stream stream = Stream::compute;
  double sm_share = 0;      // of communication: part of the SMs it takes from compute beside it
  double slowdown = 1;      // of communication: how much longer it takes beside compute
  std::vector<int> after{};
  // Exchanges in pieces: the op may start once `lead` of entry `with` is done instead of all of it,
  // and the last `tail` of its own work waits for the end of `with`. -1: none.
  int with = -1;
  double lead = 0, tail = 0;
};

struct StreamTimeline {
  std::vector<Seconds> start, finish;  // by op
  Seconds end;
  // Sums to `end`: compute ops for as long as they would take alone; communication for the rest, be
  // it idle compute or compute it slows down; copies while nothing else runs.
  CostVector parts{};
};

// An op starts when its stream has finished the ops issued before it and everything in `after` is
// done. While compute and communication work, compute runs at 1 - sm_share, communication at
// 1 / slowdown; copies disturb nobody.
[[nodiscard]] StreamTimeline run_streams(std::span<const StreamOp>);

}  // namespace pleat
