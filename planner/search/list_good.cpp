// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/list_good.hpp"

#include <algorithm>
#include <utility>

#include "planner/search/different_plans.hpp"

namespace pleat {
namespace {

// A plan that was counted under the rule `from` is listed; another one is not, for the reason `to`.
void count_again(SearchResult& result, const char* from, const char* to) {
  const auto counted = result.rejected.find(from);
  if (counted != result.rejected.end() && --counted->second == 0) result.rejected.erase(counted);
  if (to != nullptr) ++result.rejected[to];
}

}  // namespace

void list_beside(SearchResult& result, const PlanTree& tree, const std::vector<GoodPlan>& good) {
  const auto listed = static_cast<std::size_t>(listed_plans(tree.config));
  std::vector<Candidate>& best = result.best;
  const auto value = [&](const Candidate& c) { return value_of(c.estimate, tree.config.robust); };
  for (const GoodPlan& plan : good) {
    Candidate other{tree.plan_of(plan.node), plan.estimate};
    const bool full = best.size() == listed;
    if (value(other) > (full ? value(best.back()) : tree.config.not_above)) break;
    if (std::ranges::any_of(best,
                            [&](const Candidate& c) { return same_mesh(c.plan, other.plan); })) {
      continue;
    }
    if (full) best.pop_back();
    count_again(result, "time-bound", full ? "slower" : nullptr);
    const auto at = std::ranges::upper_bound(best, value(other), {}, value);
    best.insert(at, std::move(other));
  }
}

void list_first(SearchResult& result, const PlanTree& tree, Candidate good) {
  std::vector<Candidate>& best = result.best;
  const auto value = [&](const Candidate& c) { return value_of(c.estimate, tree.config.robust); };
  if (!best.empty() && value(best.front()) <= value(good)) return;
  const auto others =
      std::erase_if(best, [&](const Candidate& c) { return variants(c.plan, good.plan); });
  if (others > 0) result.rejected["variant"] += static_cast<std::int64_t>(others);
  best.insert(best.begin(), std::move(good));
  const bool full = best.size() > static_cast<std::size_t>(listed_plans(tree.config));
  if (full) best.pop_back();
  count_again(result, "not-reached", full ? "slower" : nullptr);
}

}  // namespace pleat
