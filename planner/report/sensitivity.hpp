// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What would change the answer: plans priced again with each input a fifth lower and higher.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.hpp"
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
  double effect = 0;         // on the first plan's step, between both, over the step
};

struct SensitivityConfig {
  Runtime runtime = Runtime::megatron;
  bool robust = false;          // ranked by the upper end of the band
  double memory_margin = 0.05;  // part of the GPU's memory kept free
  int threads = 0;              // 0: all cores
};

// `plans`, fastest first and not empty: each is priced under each change. The largest effect first;
// the first plan stays the winner where another is only as good, rounding apart. The same at any
// number of threads.
[[nodiscard]] std::vector<PlanSwing> plan_sensitivity(const ModelSpec&, const StepGround&,
                                                      const std::vector<Candidate>& plans,
                                                      const SensitivityConfig&);

// The same with a search of its own under each change, which finds plans that are not in the list.
// `search_config` says what is searched; its time limit holds for each search.
[[nodiscard]] std::vector<PlanSwing> search_sensitivity(const ModelSpec&, const StepGround&,
                                                        const std::vector<Candidate>& plans,
                                                        const SearchConfig& search_config);

}  // namespace pleat
