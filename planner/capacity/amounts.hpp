// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokens, days and dollars as people write and read them: 15T, 60d, 20M.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/quantity.hpp"

namespace pleat {

struct ParsedAmount {
  std::optional<double> value;
  std::string problem;  // what is wrong with the text; empty when there is a value
};

// A number, which may end in k, M, B (or G) or T: "15T", "1.5e13".
[[nodiscard]] ParsedAmount parse_count(std::string_view text);
// The same, with or without "$" before or behind it, or USD behind it: "20M", "$2.5", "3 USD".
[[nodiscard]] ParsedAmount parse_dollars(std::string_view text);
// The seconds of "60d", "8w", "2mo", "1y", "1440h", "90min" or "30s". A number without a unit is
// refused.
[[nodiscard]] ParsedAmount parse_duration(std::string_view text);

[[nodiscard]] std::string amount_text(double count);     // "14.9T"
[[nodiscard]] std::string dollars_text(double dollars);  // "18.4M USD"
[[nodiscard]] std::string days_text(Seconds);            // "58.31 days"

// Rounded down to so many significant digits.
[[nodiscard]] double round_down(double value, int digits);

}  // namespace pleat
