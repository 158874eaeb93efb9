// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// --routing and --imbalance.
#pragma once

#include <CLI/App.hpp>

#include "application/request/routing_words.hpp"

namespace pleat::cli {

void add_routing_options(CLI::App&, RoutingOptions&, const char* group);

}  // namespace pleat::cli
