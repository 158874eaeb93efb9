// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How far a plan's layout may be from the best one. The search tries few layouts for each number of
// stages, and layout_polish improves those of found plans; this bounds what any layout could reach.
#pragma once

#include "planner/problem.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// Both at the burst clock: the least step of any contiguous layout of the plan's layers, whatever
// its memory, and the step of the plan's own layout.
struct LayoutBound {
  Seconds least, own;
  // By what part of its time the plan may be slower than with the best layout.
  [[nodiscard]] double gap() const { return own > least ? (own - least) / own : 0; }
};

// The larger of two bounds. One comes from paths through the slots of the pipeline
// (critical_path_bound.hpp). The other is for 1F1B with one chunk a stage: the first microbatch
// passes the stages before stage s, then s runs m microbatches, and the last one goes back. With
// W_i the time of the layers of stage i that is at least sum(W_0 … W_{s-1}) + m W_s, and dynamic
// programming over the stages finds the partition that makes the largest such sum smallest. Step
// operations are left out; a plan that recomputes only some layers counts as one that recomputes
// none.
[[nodiscard]] LayoutBound layout_bound(const Problem&, const SearchConfig&, const Plan&);

}  // namespace pleat
