// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/list_anew.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/search/different_plans.hpp"

namespace pleat {

void list_anew(const Problem& problem, const SearchConfig& config, std::vector<Candidate> found,
               bool every, SearchResult& result) {
  const auto value = [&](const Candidate& c) { return value_of(c.estimate, config.robust); };
  result.enumerated += static_cast<std::int64_t>(found.size());
  std::vector<Plan> proven;
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    if (i < result.best_of_layouts.size() && result.best_of_layouts[i]) {
      proven.push_back(result.best[i].plan);
    }
  }
  if (every) proven.push_back(found.back().plan);
  std::ranges::move(result.best, std::back_inserter(found));
  std::ranges::stable_sort(found, {}, value);
  result.best = different_plans(std::move(found), static_cast<std::size_t>(listed_plans(config)),
                                config.robust, problem.cluster.gpu.memory.base(), result.rejected);
  result.best_of_layouts.clear();
  for (const Candidate& c : result.best) {
    result.best_of_layouts.push_back(std::ranges::find(proven, c.plan) != proven.end());
  }
  result.bound = std::min(result.bound, value(result.best.front()));
}

}  // namespace pleat
