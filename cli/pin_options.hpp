// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The pins of a search as options: one for each field of a plan that may be pinned.
#pragma once

#include <CLI/App.hpp>

#include "application/request/pin_words.hpp"

namespace pleat::cli {

void add_pin_options(CLI::App&, PinWords&);

}  // namespace pleat::cli
