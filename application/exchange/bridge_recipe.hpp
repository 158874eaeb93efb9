// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A recipe of Megatron-Bridge in Python: run by the user's interpreter, in a process of its own,
// for the configuration that it returns.
#pragma once

#include <string>
#include <string_view>

namespace pleat {

struct RecipeOptions {
  std::string python;    // empty: PLEAT_PYTHON, else python3 of PATH
  std::string function;  // which of the file; empty: its only recipe
  double seconds = 120;  // then the process is killed
  std::string gpu;       // that it asks for where there is none: "h100-sxm"
};

[[nodiscard]] bool is_recipe(const std::string& file);  // "recipe.py"

// The configuration as text that interop::read_yaml takes, as run_config.yaml has it. ConfigError
// (bad_request) where there is no interpreter with megatron.bridge, for a file of several recipes
// and of none, and for a recipe that raises, ends its process or takes too long.
[[nodiscard]] std::string read_bridge_recipe(const std::string& file, const RecipeOptions&);

// What the interpreter is given to run (bridge_recipe_script.cpp).
[[nodiscard]] std::string_view recipe_script();

}  // namespace pleat
