// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The manual page, from the same options as the help: `pleat help --man`, share/man/man1/pleat.1.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace pleat::cli {

// In roff, for man(1). `version`: "pleat 0.1.0".
[[nodiscard]] std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace pleat::cli
