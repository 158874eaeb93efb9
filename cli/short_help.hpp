// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Help by task: of commands with many options those that matter, and how one asks for what.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace pleat::cli {

// Commands with a short help get --help-all beside --help.
void add_full_help(CLI::App& app);

// What --help says: the short help, or all of it where there is none.
[[nodiscard]] std::string short_help(const CLI::App& app, const CLI::App& command);

// Help as a terminal of so many columns shows it: descriptions go on under themselves.
[[nodiscard]] std::string fit_help(const std::string& text, std::size_t columns);

// Prints help: fitted where the width is known, with colours where a terminal shows them.
void print_help(const std::string& text);

}  // namespace pleat::cli
