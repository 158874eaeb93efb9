// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/recipe_options.hpp"

#include <string>

#include "cli/options/duration.hpp"

namespace pleat::cli {

void add_recipe_options(CLI::App& command, RecipeOptions& o) {
  command
      .add_option("--python", o.python,
                  "Interpreter with megatron.bridge, which runs a recipe in Python (default: "
                  "PLEAT_PYTHON, else python3)")
      ->type_name("FILE");
  command
      .add_option("--recipe", o.function,
                  "Function of recipe.py that returns the configuration, where there are several")
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--recipe-time",
          [&o](const std::string& text) { o.seconds = read_duration(text, "--recipe-time"); },
          "Then a recipe's process is killed, for example 5m (default: 2m)")
      ->type_name("TIME");
}

}  // namespace pleat::cli
