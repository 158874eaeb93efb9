// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What no layout of a plan goes below: the search's space has two layouts for each number of stages,
// and layout_polish improves those of found plans.
#pragma once

#include "planner/search/search.hpp"

namespace pleat {

// At the burst clock: what no contiguous layout of the plan's layers over its stages goes below,
// whatever its memory, and what the plan's own takes.
struct LayoutBound {
  Seconds least, own;
  // By how much of its time the plan's layout may be off the best one.
  [[nodiscard]] double gap() const { return own > least ? (own - least) / own : 0; }
};

// Paths through the slots of the pipeline bound every layout (path_bound.hpp), from what layers take
// at least. Stage s of 1F1B without chunks has the first microbatch come through the stages before it,
// runs all microbatches, and lets the last one go back: with W the time of a stage's layers, at least
// sum(W_0 … W_{s-1}) + m W_s, and a dynamic programme over the stages finds the partition whose largest
// such sum is least. Step operations are not counted; a plan that recomputes only some layers counts as
// one that recomputes none.
[[nodiscard]] LayoutBound layout_bound(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                       const Profile&, const SearchConfig&, const Plan&);

}  // namespace pleat
