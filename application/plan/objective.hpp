// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What `pleat plan` is to make best, and the alternatives it weighs for that.
#pragma once

#include <string>

#include "application/target.hpp"
#include "core/json/json_value.hpp"
#include "planner/search/search.hpp"

namespace pleat {

struct ObjectiveOptions {
  // throughput: the shortest step on all GPUs; time-to-train: on as many as help; cost: fewest
  // GPU-hours; memory-headroom: least memory among plans at most `slack` slower than the fastest.
  std::string objective = "throughput";
  double slack = 0.05;
  int min_gpus = 0;      // of time-to-train and cost; 0: a sixteenth
  bool pareto = false;   // also print step time against memory, as far as the slack goes
};

struct ObjectiveResult {
  SearchResult result;  // the best plan first
  std::string text;     // the alternatives as tables; may be empty
  JsonValue sizes, front;  // arrays; null where there are none
  std::string hint;     // that fewer GPUs would be faster, in a line; may be empty
  JsonValue hint_facts;  // null without one
  bool front_optimal = true;  // no limit cut the front short
  // Plans priced by all searches of the front, the first among them: what `result` counts is of one.
  std::int64_t front_priced = 0;
  double front_seconds = 0;  // of those searches
};

// May set the GPUs of target and config to those of the best plan. ConfigError as search.
[[nodiscard]] ObjectiveResult search_objective(const ObjectiveOptions&, Target&, SearchConfig&);

}  // namespace pleat
