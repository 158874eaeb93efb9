// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The options that say where a command's text goes.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "console/write_file.hpp"

namespace pleat::cli {

// `what` is written: "the plan".
void add_output_options(CLI::App&, OutputOptions&, const std::string& what);

}  // namespace pleat::cli
