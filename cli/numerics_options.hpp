// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Number formats as a search is asked for them: an option for each row of the table of a plan's
// fields that changes numbers.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "application/request/numerics_words.hpp"

namespace pleat::cli {

void add_numerics_options(CLI::App&, NumericsWords&);
// --numerics: what is chosen of those that are not given.
inline constexpr const char* kNumericsGroup = "Numerics (commas: a choice)";
void add_numerics_mode(CLI::App&, std::string& mode, const char* group);

}  // namespace pleat::cli
