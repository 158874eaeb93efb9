// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a search may place the experts of a layer, and how many copies of busy ones it may keep on
// each rank: where the loads of experts are known (--routing FILE), and the runtime can do it.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "planner/problem.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// Copies that are tried, where they make busiest ranks less busy by so much than fewer copies do,
// on the mean over layers. Changes of the best plans try all other numbers.
inline constexpr std::array kRedundantExperts{0, 1, 2, 4};
inline constexpr double kLeastGainOfCopies = 0.01;

// Whether a search may place experts by load at all.
[[nodiscard]] bool may_place_experts(const Problem&, const SearchConfig&);
// Whether pins, or without them the runtime, allow this placement.
[[nodiscard]] bool allows_placement(const SearchConfig&, const ExpertMapping&);

class PlacementChoices {
 public:
  // The arguments must outlive it.
  PlacementChoices(const Problem& problem, const SearchConfig& config)
      : problem_(problem), config_(config) {}

  // The mapping with each placement of its experts that is tried: pinned ones, valid or not; else
  // in order, or by load where busiest ranks are less busy then, and by load with copies.
  [[nodiscard]] std::vector<ExpertMapping> of(const ExpertMapping&);

 private:
  [[nodiscard]] bool may_place(const ExpertMapping&) const;
  [[nodiscard]] std::vector<ExpertMapping> pinned(const ExpertMapping&) const;
  // Tokens of the busiest rank over the mean, on the mean over layers.
  [[nodiscard]] double busiest(const ExpertMapping&);

  const Problem& problem_;
  const SearchConfig& config_;
  std::map<std::tuple<int, ExpertPlacement, int>, double> busiest_;
};

}  // namespace pleat
