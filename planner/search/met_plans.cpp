// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/met_plans.hpp"

#include <algorithm>

namespace pleat {

void MetPlans::enter(const Node& node, const std::vector<StageOverride>& stages,
                     const StepEstimate& estimate) {
  const Seconds value = value_of(estimate, tree_.config.robust);
  const Plan plan = tree_.plan_of(node);
  for_each_met_field([&](auto row) {
    const std::pair key(row.value, static_cast<int>(kPlanField<row>.in(plan)));
    const auto at = fastest_.find(key);
    if (at == fastest_.end()) fastest_.emplace(key, Met{node, stages, value});
    else if (value < at->second.value) at->second = {node, stages, value};
  });
}

std::vector<MetPlan> MetPlans::at_most(double times) const {
  std::vector<MetPlan> list;
  if (fastest_.empty()) return list;
  const auto value = [](const auto& entry) { return entry.second.value; };
  const Seconds most = value(*std::ranges::min_element(fastest_, {}, value)) * times;
  for (const auto& [key, met] : fastest_) {
    if (met.value > most) continue;
    list.push_back({.plan = tree_.plan_of(met.node), .value = met.value, .row = key.first});
    list.back().plan.stages = met.stages;
  }
  std::ranges::stable_sort(list, {}, &MetPlan::value);
  return list;
}

}  // namespace pleat
