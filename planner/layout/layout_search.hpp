// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The fastest of all contiguous layouts of a plan whose pipeline ranks hold one chunk each.
//
// What a stage adds to a step, and what memory it needs, follows from its layers alone (stage_rows.hpp),
// and more layers never need less. So the stages that fit and are not by themselves as long as the best
// step known make a graph of cuts; a dynamic programme finds the cuts from which the end can be reached,
// and only paths among them are timed.
#pragma once

#include <cstdint>

#include "planner/search/search.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

struct FoundLayout {
  Candidate best;      // the given plan, if no layout is better
  bool every = false;  // no layout of the plan that fits is faster, compared at the burst clock
};

// What a plan may need: bytes of a GPU, and of a node of so many GPUs (0: any).
struct MemoryLimits {
  std::int64_t usable = 0, host = 0;
  int gpus_per_node = 1;
};

// `from` must be valid and fit. Other plans than of one chunk a rank come back as they are, with
// `every` false. The references must be those of the estimator.
[[nodiscard]] FoundLayout best_layout(const Estimator&, const ModelSpec&, const WorkloadSpec&,
                                      const SearchConfig&, const MemoryLimits&, Candidate from);

}  // namespace pleat
