// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lists with commas between, as they were typed: once they are parsed, their empty entries are
// gone.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pleat::cli {

// Throws CLI::ValidationError with the option's name if a list on the command line ("1,,2", "1," or
// ",1") has an entry of nothing. `words`: the arguments behind the program's name.
void refuse_empty_entries(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace pleat::cli
