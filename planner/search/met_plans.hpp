// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans that a search met on its way: for some fields, the fastest one that it priced with each
// value of the field, whether it is listed or not. Changes of plans start from some of them
// (neighbours/further_searches.hpp).
#pragma once

#include <cstddef>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/plan/pinned_fields.hpp"
#include "planner/search/opened.hpp"
#include "planner/search_result.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

// Calls visit(std::integral_constant<std::size_t, Row>) for the row of each of these fields.
template <class Visit>
constexpr void for_each_met_field(Visit&& visit) {
  visit(std::integral_constant<std::size_t, kPinRow<"pp">>{});
  visit(std::integral_constant<std::size_t, kPinRow<"ep">>{});
  visit(std::integral_constant<std::size_t, kPinRow<"tp">>{});
  visit(std::integral_constant<std::size_t, kPinRow<"cp">>{});
  visit(std::integral_constant<std::size_t, kPinRow<"micro-batch">>{});
  visit(std::integral_constant<std::size_t, kPinRow<"sharding">>{});
}

inline constexpr double kHopefulMet = 1.3;  // times the best plan; slower ones are of no interest

class MetPlans {
 public:
  // The tree must outlive it.
  explicit MetPlans(const PlanTree& tree) : tree_(tree) {}

  // A plan that fits, by its node.
  void enter(const Node&, const std::vector<StageOverride>& stages, const StepEstimate&);
  // Those that take at most so many times as long as the fastest one, fastest first.
  [[nodiscard]] std::vector<MetPlan> at_most(double times) const;

 private:
  struct Met {
    Node node;
    std::vector<StageOverride> stages;
    Seconds value;
  };
  const PlanTree& tree_;
  std::map<std::pair<std::size_t, int>, Met> fastest_;  // by the field's row and its value
};

}  // namespace pleat
