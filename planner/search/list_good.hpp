// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lists good plans (good_plans.hpp) beside what a search has found itself. Both keep the list in
// the order of value_of, no longer than listed_plans(config), and the counts of `rejected` true.
#pragma once

#include <vector>

#include "planner/search/good_plans.hpp"
#include "planner/search_result.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

// After a search that has ended: good plans of meshes of which it has listed none, since it looked
// for fewer plans than are listed.
void list_beside(SearchResult&, const PlanTree&, const std::vector<GoodPlan>& good);

// After a search that was cut off: `good`, if the search has found no plan as good.
void list_first(SearchResult&, const PlanTree&, Candidate good);

}  // namespace pleat
