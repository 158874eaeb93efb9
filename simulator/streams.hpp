// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Two in-order streams of one rank: when each op starts, and which rubric every moment belongs to.
#pragma once

#include <span>
#include <vector>

#include "simulator/layer_costs.hpp"

namespace pleat {

// An op in issue order. `after`: earlier entries it must follow.
struct StreamOp {
  Seconds duration;
  CostClass cls = CostClass::memory_bound;
  Stream stream = Stream::compute;
  std::vector<int> after;
};

struct StreamTimeline {
  std::vector<Seconds> start;  // by op
  Seconds end;
  // Sums to `end`: compute ops in full, communication only while the compute stream is idle.
  CostVector parts{};
};

// An op starts when its stream has finished the ops issued before it and everything in `after` is
// done. Concurrent ops do not slow each other down (not modelled).
[[nodiscard]] StreamTimeline run_streams(std::span<const StreamOp>);

}  // namespace pleat
