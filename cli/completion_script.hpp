// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Completion for shells, from the commands as they are declared.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace pleat::cli {

[[nodiscard]] std::string completion_script(CLI::App&, const std::string& shell);

}  // namespace pleat::cli
