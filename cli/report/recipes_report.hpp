// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes beside the winner of a search, as text and as JSON.
#pragma once

#include "application/plan/recipes.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

[[nodiscard]] std::string recipes_text(const std::vector<Recipe>&, const SearchResult&);
[[nodiscard]] JsonValue recipes_json(const std::vector<Recipe>&);

}  // namespace pleat::cli
