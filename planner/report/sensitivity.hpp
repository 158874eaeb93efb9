// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How the answer depends on uncertain inputs: plans priced again with each input 20% lower and 20%
// higher.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"
#include "planner/report/step_inputs.hpp"

namespace pleat {

// The best plan under a change.
struct Winner {
  Plan plan;
  Seconds step, value;               // value: what plans are ranked by (value_of)
  std::optional<std::size_t> place;  // among the plans given; nothing: a new search found it
};

struct ChangedAnswer {
  Seconds own, own_value;      // the first plan's
  bool fits = true;            // whether the first plan still fits in memory
  std::optional<Winner> best;  // nothing: no plan fits
  bool proven = true;          // false: a search for it was cut off by its time limit
};

struct PlanSwing {
  std::string input;
  ChangedAnswer less, more;  // with 20% less, 20% more of it
  double effect = 0;  // change of the first plan's step between the two, relative to its step
};

struct SensitivityConfig {
  Runtime runtime = Runtime::megatron;
  bool robust = false;          // ranked by the upper end of the band
  double memory_margin = 0.05;  // part of the GPU's memory kept free
  int threads = 0;              // 0: all cores
};

// Prices every one of `plans` (fastest first, not empty) under each change. The input with the
// largest effect comes first. Another plan becomes the winner only if it is better by more than
// rounding. The same at any number of threads.
[[nodiscard]] std::vector<PlanSwing> plan_sensitivity(const Problem&,
                                                      const std::vector<Candidate>& plans,
                                                      const SensitivityConfig&);

// The same, and under each change a new search, which can find plans that are not in the list. The
// time limit of `search_config` holds for each search.
[[nodiscard]] std::vector<PlanSwing> search_sensitivity(const Problem&,
                                                        const std::vector<Candidate>& plans,
                                                        const SearchConfig& search_config);

}  // namespace pleat
