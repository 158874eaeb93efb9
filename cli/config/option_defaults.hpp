// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Defaults of options from one TOML file. A key before any section holds for the commands that ask
// (plan, predict, capacity, serve, program, model); one in [train] for `pleat train` alone. What is
// typed goes before the section, and that before what stands on top.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::cli {

// Makes `app` take defaults from the file (core/environment.hpp) when it is parsed.
void take_option_defaults(CLI::App& app);

// What is wrong with the file, after parsing; then none of its defaults was taken.
[[nodiscard]] const std::optional<ConfigError>& defaults_problem();

// Options of the parsed command that have their value from the file, as they are typed.
[[nodiscard]] std::vector<std::string> taken_defaults();

// Whether the user typed it: not absent, and no default of the file.
[[nodiscard]] bool is_typed(const CLI::Option&);

// The file that `app` reads, empty: none.
[[nodiscard]] std::string defaults_file(const CLI::App& app);

struct OptionDefault {
  std::string key = {};                    // "plan.top"
  std::string value = {};                  // items of a list with commas between
  std::vector<std::string> commands = {};  // that it holds for: "plan", "data make"
  int line = 0;
};
// All of the file's text, in its order. Throws ConfigError (bad_file) with all that is wrong.
[[nodiscard]] std::vector<OptionDefault> read_defaults(CLI::App& app, const std::string& file,
                                                       const std::string& text);

// The options that a key means, one of each command. Throws ConfigError (bad_request) for a key
// that none has, with near ones.
[[nodiscard]] std::vector<CLI::Option*> options_of_key(CLI::App& app, const std::string& key);

}  // namespace pleat::cli
