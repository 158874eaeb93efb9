// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes to compare a search with, as they are typed: "tp=1,pp=2,vpp=8,ep=32", or a plan file.
#pragma once

#include "application/plan/recipes.hpp"

namespace pleat {

// Layers that do not divide get the balanced layout where a recipe names none. ConfigError for one
// that is wrong or not valid.
[[nodiscard]] std::vector<RecipeDraft> given_recipes(const Target&, const SearchConfig&,
                                                     const std::vector<std::string>& given);

}  // namespace pleat
