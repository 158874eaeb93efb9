// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes beside the winner of a search, as text and as JSON.
#pragma once

#include "application/plan/recipes.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

// In so many columns, after an empty line; nothing to compare: empty.
[[nodiscard]] std::string recipes_text(const std::vector<Recipe>&, const SearchResult&,
                                       std::size_t columns);
[[nodiscard]] JsonValue recipes_json(const std::vector<Recipe>&, const SearchResult&);

}  // namespace pleat::cli
