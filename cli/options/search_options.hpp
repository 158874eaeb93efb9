// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The options of a search that are not about its objective: pins and limits, shared by the commands
// that search.
#pragma once

#include <CLI/App.hpp>

#include "application/request/search_request.hpp"

namespace pleat::cli {

void add_search_pins(CLI::App&, SearchOptions&);
void add_search_limits(CLI::App&, SearchOptions&);

}  // namespace pleat::cli
