// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes to compare a search with: shipped ones for the same model, cluster and size, and those
// given on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/request.hpp"
#include "core/json/json_value.hpp"
#include "planner/search.hpp"

namespace pleat::cli {

struct Recipe {
  std::string name;  // file name or the text given
  std::string source;
  Candidate candidate;
  std::string numerics;      // that the search did not use (other_numerics)
  std::optional<int> place;  // in the ranking; empty: behind all of `ranked`
};

// Prices the recipes and places them among result.best. One that this workload does not allow is
// left out with a note if it ships, and a ConfigError if it was given.
[[nodiscard]] std::vector<Recipe> price_recipes(const Target&, const SearchConfig&,
                                                const std::vector<std::string>& given,
                                                const SearchResult&);

[[nodiscard]] std::string recipes_text(const std::vector<Recipe>&, const SearchResult&);
[[nodiscard]] JsonValue recipes_json(const std::vector<Recipe>&);

}  // namespace pleat::cli
