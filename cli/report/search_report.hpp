// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The answer of `pleat plan` for people: what the best plan takes and why it is the best, the plan
// itself, those nearly as good; on demand what became of all others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/plan/recipes.hpp"
#include "application/target.hpp"
#include "console/terminal.hpp"
#include "planner/plan.hpp"

namespace pleat::cli {

struct SearchReport {
  std::optional<double> tokens;  // to train on; nothing: days are told for 1T tokens
  std::vector<Recipe> recipes;   // beside the best plan
  std::string plan_file;         // where the best plan was written; empty: nowhere
};

// From the step time of the best plan to the table of the listed ones. Without a plan: what is
// known all the same.
[[nodiscard]] std::string search_text(const PlanAnswer&, const Target&, const SearchReport&,
                                      const Terminal&);

// What --explain would add.
[[nodiscard]] std::string more_text(const SearchResult&, const Terminal&);

// Why each listed plan is slower than the first, what became of all others, what was not tried.
[[nodiscard]] std::string search_details(const SearchResult&, const Terminal&);

}  // namespace pleat::cli
