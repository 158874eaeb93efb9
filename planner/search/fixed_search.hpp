// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search with fixed number formats: best-first branch and bound over the plan tree
// (plan_tree.hpp).
#pragma once

#include <memory>

#include "planner/problem.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

class FixedSearch {
 public:
  // `config` has exactly one entry in `numerics`. The references must outlive the search. `known`:
  // what earlier searches computed for these formats; null: nothing. Throws as non_empty_meshes.
  FixedSearch(const Problem&,
              const SearchConfig& config, PlanPrices* known = nullptr);
  ~FixedSearch();

  // Computes the bounds of all meshes, unless that is done or a limit ends it.
  void bound_meshes();
  // No plan has a smaller value (value_of), going by the bounds of meshes; 0 before bound_meshes.
  [[nodiscard]] Seconds least() const;

  // Runs the search; call it once. Before, `top`, `not_above`, the limits and `progress` of the
  // config may still be changed.
  [[nodiscard]] SearchResult run();

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace pleat
