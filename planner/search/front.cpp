// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/front.hpp"
#include "planner/search/search.hpp"

#include <algorithm>

namespace pleat {

Front pareto_front(const Problem& problem, SearchConfig config,
                   double slack, const SearchResult& fastest, KnownPrices& known) {
  const auto step_down =
      static_cast<std::int64_t>(kFrontResolution * problem.cluster.gpu.memory.base());
  Front front{{}, fastest.optimal, fastest.priced, fastest.seconds};
  if (fastest.best.empty()) return front;
  front.plans.push_back(fastest.best.front());
  config.top = 1;
  config.not_above = value_of(front.plans.front().estimate, config.robust) * (1 + slack);
  while (front.optimal) {
    config.most_bytes =
        front.plans.back().estimate.peak_bytes() - std::max<std::int64_t>(1, step_down);
    if (*config.most_bytes <= 0) break;
    SearchResult found = search(problem,
                                rest_of_limits(config, front.seconds, front.priced), &known);
    front.priced += found.priced;
    front.seconds += found.seconds;
    front.optimal = found.optimal;
    if (found.best.empty()) break;
    // As good with less memory: drop the plans before that are no better. (It can even be faster: a
    // plan that saves memory without need is not in the space with more memory.)
    const Seconds value = value_of(found.best.front().estimate, config.robust);
    while (!front.plans.empty() &&
           value <= value_of(front.plans.back().estimate, config.robust)) {
      front.plans.pop_back();
    }
    front.plans.push_back(std::move(found.best.front()));
  }
  return front;
}

}  // namespace pleat
