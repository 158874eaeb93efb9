// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Step time against memory: the plans that are worth having.
#pragma once

#include "planner/search/plan_prices.hpp"
#include "planner/search/search.hpp"

namespace pleat {

inline constexpr double kFrontResolution = 0.01;  // of the GPU's memory

struct Front {
  // Fastest first, each with less memory than the one before by kFrontResolution at least, each the
  // best (value_of) that needs no more memory than it does, and none off the first one's value by more than
  // the slack. Cut short, the last one need not be the best with its memory. Empty: nothing fits.
  std::vector<Candidate> plans;
  bool optimal = true;  // no limit cut it short
  std::int64_t priced = 0;  // by all searches together, that of the fastest among them
  double seconds = 0;
};

// One search for each plan, with the memory of the one before as its limit. `slack`: 0.1 for plans up
// to 10% slower than the fastest. Limits of the config hold for all searches together. `fastest`: the
// result of `search` with the same config, whose limits it has used in part. `known`: what that one
// found out, and what these do.
[[nodiscard]] Front pareto_front(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                 const Profile&, SearchConfig, double slack,
                                 const SearchResult& fastest, KnownPrices& known);

}  // namespace pleat
