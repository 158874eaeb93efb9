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
  std::optional<int> place;  // in the ranking; empty: behind all of `ranked`
};

// Prices the recipes and places them among result.best. One that this workload does not allow is
// left out with a note if it ships, and a ConfigError if it was given.
[[nodiscard]] std::vector<Recipe> price_recipes(const Target&, Precision,
                                                const std::vector<std::string>& given,
                                                const SearchResult&);

// Whether a shipped plan is for this model, cluster and size.
[[nodiscard]] bool has_shipped_recipe(const Target&);

[[nodiscard]] std::string recipes_text(const std::vector<Recipe>&, const SearchResult&);
[[nodiscard]] JsonValue recipes_json(const std::vector<Recipe>&);

}  // namespace pleat::cli
