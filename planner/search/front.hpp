// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The Pareto front of step time against memory.
#pragma once

#include "planner/search/plan_prices.hpp"
#include "planner/search/search.hpp"

namespace pleat {

inline constexpr double kFrontResolution = 0.01;  // of the GPU's memory

struct Front {
  // Fastest first. Each needs less memory than the one before, by at least kFrontResolution; no
  // plan that needs no more memory has a smaller value (value_of); no value is above the first
  // one's by more than the slack. If a limit cut the front short, the last plan may not be the best
  // for its memory. Empty: nothing fits.
  std::vector<Candidate> plans;
  bool optimal = true;  // no limit cut it short
  std::int64_t priced = 0;  // by all of its searches, including the one for the fastest plan
  double seconds = 0;
};

// One search for each plan of the front, which may use less memory than the plan before. `slack` is
// 0.1 for plans up to 10% slower than the fastest. `fastest` is the result of a search with the
// same config. The config's limits hold for all searches together, that one included; all share
// `known`.
[[nodiscard]] Front pareto_front(const Problem&, SearchConfig, double slack,
                                 const SearchResult& fastest, KnownPrices& known);

}  // namespace pleat
