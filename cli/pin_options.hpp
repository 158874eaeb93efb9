// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The pins of a search as options: one for each field of a plan that may be pinned.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

#include "application/request/pin_words.hpp"

namespace pleat::cli {

void add_pin_options(CLI::App&, PinWords&);

// Pins of a search as they are typed: lists of whole numbers and ranges, "1,2" and "4..8".

// The numbers, ranges written out, each once, in the order given. CLI::ValidationError names a word
// that is no number or range, or lies outside of the limits.
[[nodiscard]] std::vector<int> parse_numbers(const std::vector<std::string>& words,
                                             const std::string& flag, int least, int most);

}  // namespace pleat::cli
