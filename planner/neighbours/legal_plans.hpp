// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Makes a changed plan legal, or says that it cannot be. A change of one field may ask for others:
// sizes that follow from it are set, and a layout for the new number of stages.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/constraints.hpp"
#include "planner/neighbours/plan_change.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// Sets fields that mean something only beside another one, as that one wants them.
void put_dependent(Plan&);

class LegalPlans {
 public:
  // The references must outlive it.
  LegalPlans(const Problem& problem, const SearchConfig& config)
      : problem_(problem), config_(config) {}

  // Changes a plan that came from `base`. A share that is to be as little as fits becomes all.
  // False: the sizes do not make up the GPUs, or the request does not allow it.
  bool change(const Plan& base, const PlanChange&, Plan&);
  [[nodiscard]] bool legal(const Plan&) const;
  // The plan with a change of this row. Where that breaks rules, of plans or of the runtime, other
  // fields go back to what a plain plan has, three at most. Empty: that does not help.
  [[nodiscard]] std::optional<Plan> cured(Plan, std::size_t row) const;

 private:
  [[nodiscard]] const Constraint* broken(const Plan&) const;
  [[nodiscard]] std::string_view refused(const Plan&) const;  // rule of the runtime; empty: none
  bool follow(const Plan& base, Plan&);
  const std::string& layout_of(int pp, int vpp);

  const Problem& problem_;
  const SearchConfig& config_;
  std::map<std::pair<int, int>, std::string> layouts_;
};

}  // namespace pleat
