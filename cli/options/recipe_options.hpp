// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// --python, --recipe and --recipe-time: how a recipe of Megatron-Bridge in Python is read.
#pragma once

#include <CLI/CLI.hpp>

#include "application/exchange/bridge_recipe.hpp"

namespace pleat::cli {

void add_recipe_options(CLI::App&, RecipeOptions&);

}  // namespace pleat::cli
