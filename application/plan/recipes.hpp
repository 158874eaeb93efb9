// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes to compare a search with: shipped ones for the same model, cluster and size, and given
// ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

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

// Those that ship for the target's model, cluster and size. One that cannot be read or that the
// workload does not allow is left out with a note.
[[nodiscard]] std::vector<RecipeDraft> shipped_recipes(const Target&);

// Prices the recipes and places them among result.best. Given ones that name no precision get the
// number formats of the best plan, where they are valid with those.
[[nodiscard]] std::vector<Recipe> price_recipes(const Target&, const SearchConfig&,
                                                const std::vector<RecipeDraft>&,
                                                const SearchResult&);

}  // namespace pleat
