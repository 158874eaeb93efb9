// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A question about the best plan answered in full: the search, recipes beside its winner, what its
// number formats do, what would change the answer, why the winner takes as long.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "application/explain/explain_plan.hpp"
#include "application/plan/numerics_answer.hpp"
#include "application/plan/recipes.hpp"
#include "application/request/plan_question.hpp"
#include "application/work_hooks.hpp"
#include "planner/plan.hpp"
#include "planner/report/explain.hpp"
#include "planner/report/sensitivity.hpp"

namespace pleat {

struct SearchHooks : WorkHooks {
  std::function<void(const SearchProgress&)> show;            // between rounds of the search
  double patience = std::numeric_limits<double>::infinity();  // seconds until a plan is shown
};

struct SensitivityAnswer {
  std::vector<PlanSwing> swings;
  std::size_t plans = 0;  // priced under each change
  bool searched = false;  // under each change anew, too
};

struct FoundPlans {
  Target target;      // with the GPUs that the answer is for
  PlanAnswer answer;  // its search asks the hooks whether it is to go on
  std::optional<double> tokens;
  // Only where a plan was found:
  std::vector<Recipe> recipes;
  NumericsAnswer numerics;
  std::optional<SensitivityAnswer> sensitivity;  // where the question asks for it, or for a page
  std::optional<Explanation> why;                // with `explain`
};

// The best plans are more than `top`, where a page or a recipe's place needs more; keep_first()
// shortens the list. ConfigError for a wrong question. No plan: `best` is empty.
[[nodiscard]] FoundPlans search_plans(const FindPlanOptions&, const SearchHooks&);

[[nodiscard]] bool tells_sensitivity(const FindPlanOptions&);

// ConfigError (nothing_fits) for a search that a limit ended before any plan.
[[noreturn]] void throw_none_found(const SearchResult&);
// What would fit, where nothing does.
[[nodiscard]] std::vector<FittingChange> what_would_fit(const FoundPlans&);
// ConfigError (nothing_fits) with that, in so many columns. `complete`: nothing interrupted it.
[[nodiscard]] std::string nothing_fits_text(const FoundPlans&, const std::vector<FittingChange>&,
                                            bool complete, std::size_t columns);

// The plan file of one of the plans, with its prediction.
[[nodiscard]] PlanDocument document_of(const FoundPlans&, const Candidate&);

}  // namespace pleat
