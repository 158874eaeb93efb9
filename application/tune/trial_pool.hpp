// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans that trials are chosen from: the best of a search that its runtime can run, ready to be
// priced again as trials teach.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "application/tune/trial.hpp"
#include "calibration/learn/learn.hpp"
#include "planner/search_config.hpp"

namespace pleat {

struct PooledPlan {
  PlanDocument document;
  double seconds = 0, low = 0, high = 0;  // predicted, before any trial
  std::int64_t bytes = 0;                 // of the fullest rank
  RunToLearn run;
};

struct TrialPool {
  std::vector<PooledPlan> plans;  // the shortest step first
  std::int64_t enumerated = 0, priced = 0;
  double seconds = 0;  // of the search
};

// Searches. ConfigError (nothing_fits) where no plan fits, or none that runs.
[[nodiscard]] TrialPool find_trial_pool(const Target&, SearchConfig);

// The place of a trial's plan; one that is not there, of a search with other pins, is added.
[[nodiscard]] std::size_t place_of(const Trial&, const Target&, TrialPool&);

// Plans are the same whatever was predicted for them.
[[nodiscard]] std::string trial_plan_text(const PlanDocument&);

}  // namespace pleat
