// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search for given number formats.
#pragma once

#include <memory>

#include "planner/search/plan_prices.hpp"
#include "planner/search/search.hpp"

namespace pleat {

inline constexpr std::size_t kNearestKept = 3;  // plans, when nothing fits

class FixedSearch {
 public:
  // `config` must name one numerics, and all must outlive the search. `known`: of these numerics; none:
  // its own. ConfigError as non_empty_meshes.
  FixedSearch(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&, const Profile&,
              const SearchConfig& config, PlanPrices* known = nullptr);
  ~FixedSearch();

  // Bounds all meshes, if that is not done yet; a limit may end it.
  void bound_meshes();
  // No plan's value (value_of) is below. Of the meshes alone; 0: they are not bounded.
  [[nodiscard]] Seconds least() const;

  // As `search`, once. Until then `top`, `not_above`, limits and progress of the config may change.
  [[nodiscard]] SearchResult run();

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace pleat
