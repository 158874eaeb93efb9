// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The planner's door: a problem and what is asked of it in, the best plans and what is proven of
// them out. Behind it: the search (search/search.hpp), better layouts for what it finds
// (layout/layout_polish.hpp), smaller sizes (search/sizes_search.hpp), and step time against memory
// (search/front.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/problem.hpp"
#include "planner/search/front.hpp"
#include "planner/search/sizes_search.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// What is to be best.
enum class PlanGoal : std::uint8_t {
  throughput,      // the shortest step on all GPUs
  time_to_train,   // the shortest step on as many as help
  cost,            // the fewest GPU-hours
  memory_headroom  // the least memory among plans at most `slack` slower than the fastest
};

struct PlanRequest {
  SearchConfig search;  // GPUs, pins, number formats, limits; `top` plans are listed
  PlanGoal goal = PlanGoal::throughput;
  double slack = 0.05;
  int fewest_gpus = 0;  // of time_to_train and cost; 0: a sixteenth
  bool front = false;   // also step time against memory, as far as the slack goes
  // Of throughput: so many plans are listed, all of them certain, beside the best one, which is the
  // same as without. 0: those of `search`.
  int ranked = 0;
};

struct PlanAnswer {
  // The best plans first, with the certificate (optimal, bound), what became of all others
  // (rejected) and what was not tried. No plan: `nearest` are those that miss least.
  SearchResult result;
  // The request's search with the GPUs and the memory that `result` is for.
  SearchConfig search;
  std::vector<SizeResult> sizes;  // of time_to_train and cost: each size that was looked at
  std::optional<Front> front;     // where it was asked for, or the goal needs it
  // Of throughput: fewer GPUs, which divide the batch, would be faster.
  std::optional<SizeResult> faster_on_fewer;
};

// ConfigError if the pins leave no valid plan. A limit, or a progress function that returns false,
// ends it with the best so far. The same answer, counts included, at any number of threads where no
// limit of time ends it.
[[nodiscard]] PlanAnswer plan(const Problem&, const PlanRequest&);

}  // namespace pleat
