// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pins of a search as they are typed: lists of whole numbers and ranges, "1,2" and "4..8".
#pragma once

#include <string>
#include <vector>

namespace pleat::cli {

// The numbers, ranges written out, each once, in the order given. CLI::ValidationError names a word
// that is no number or range, or lies outside of the limits.
[[nodiscard]] std::vector<int> parse_numbers(const std::vector<std::string>& words,
                                             const std::string& flag, int least, int most);

}  // namespace pleat::cli
