// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Words for a command line that does not parse: what is wrong, and what was probably meant.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace pleat::cli {

// The innermost subcommand that was parsed, or the application itself.
[[nodiscard]] const CLI::App& selected(const CLI::App&);

// "pleat data make".
[[nodiscard]] std::string full_name(const CLI::App&);

// The help of a command, or of the application for nullptr.
[[nodiscard]] std::string help_text(const CLI::App&, const CLI::App* command);

// nullptr when there is none of that name; "data make" is a command of a command.
[[nodiscard]] const CLI::App* find_command(const CLI::App&, const std::string& name);

// `word` should be a subcommand and is none.
[[noreturn]] void throw_unknown_command(const CLI::App&, const std::string& word);

[[nodiscard]] std::string parse_problem(const CLI::App&, const CLI::ParseError&);
[[nodiscard]] std::string parse_hint(const CLI::App&, const CLI::ParseError&);

}  // namespace pleat::cli
