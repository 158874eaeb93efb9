// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/front.hpp"

#include <algorithm>

namespace pleat {

Front pareto_front(const ModelSpec& model, const ClusterSpec& cluster,
                   const WorkloadSpec& workload, const Profile& profile, SearchConfig config,
                   double slack) {
  const auto step_down = static_cast<std::int64_t>(kFrontResolution * cluster.gpu.memory.base());
  const SearchConfig asked = config;
  Front front;
  config.top = 1;
  for (;;) {
    if (asked.time_limit > 0) {
      config.time_limit = std::max(1e-9, asked.time_limit - front.seconds);
    }
    if (asked.max_evaluations > 0) {
      config.max_evaluations = std::max<std::int64_t>(1, asked.max_evaluations - front.priced);
    }
    SearchResult found = search(model, cluster, workload, profile, config);
    front.priced += found.priced;
    front.seconds += found.seconds;
    front.optimal = front.optimal && found.optimal;
    if (found.best.empty() || !found.optimal) {
      if (front.plans.empty() && !found.best.empty()) front.plans = std::move(found.best);
      return front;
    }
    const StepEstimate& e = found.best.front().estimate;
    if (front.plans.empty()) config.not_above = value_of(e, config.robust) * (1 + slack);
    config.most_bytes = e.peak_bytes() - std::max<std::int64_t>(1, step_down);
    // As good with less memory: the one before is worth nothing.
    if (!front.plans.empty() &&
        value_of(front.plans.back().estimate, config.robust) == value_of(e, config.robust)) {
      front.plans.pop_back();
    }
    front.plans.push_back(std::move(found.best.front()));
    if (*config.most_bytes <= 0) return front;
  }
}

}  // namespace pleat
