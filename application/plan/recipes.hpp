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
#include "planner/search/search.hpp"

namespace pleat::cli {

struct Recipe {
  std::string name;  // file name or the text given
  std::string source;
  Candidate candidate;
  std::string numerics;      // that the search did not use (other_numerics)
  std::optional<int> place;  // in the ranking; empty: behind all of `ranked`
};

// One that is to be priced, checked for the workload.
struct RecipeDraft {
  std::string name, source;
  Plan plan;
  bool given = false;         // on the command line
  bool names_precision = true;
};

// Before a search. Layers that do not divide get the balanced layout where a given recipe names none.
// A shipped recipe that cannot be read or that this workload does not allow is left out with a note; a
// given one is a ConfigError.
[[nodiscard]] std::vector<RecipeDraft> read_recipes(const Target&, const SearchConfig&,
                                                    const std::vector<std::string>& given);

// Prices the recipes and places them among result.best. Given ones that name no precision get the
// number formats of the best plan, where they are valid with those.
[[nodiscard]] std::vector<Recipe> price_recipes(const Target&, const SearchConfig&,
                                                const std::vector<RecipeDraft>&,
                                                const SearchResult&);

[[nodiscard]] std::string recipes_text(const std::vector<Recipe>&, const SearchResult&);
[[nodiscard]] JsonValue recipes_json(const std::vector<Recipe>&);

}  // namespace pleat::cli
