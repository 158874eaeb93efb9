// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checks of option values whose limits stand in the message and not in every line of the help.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace pleat::cli {

// CLI::Range lets NaN through, which is neither below the lowest nor above the highest.
template <class T>
[[nodiscard]] CLI::Validator in_range(T lowest, T highest) {
  const auto check = [lowest, highest](const std::string& text) -> std::string {
    T value{};
    if (CLI::detail::lexical_cast(text, value) && value >= lowest && value <= highest) return "";
    return fmt::format("Value {} not in range [{} - {}]", text, lowest, highest);
  };
  return CLI::Validator(check, "");
}

}  // namespace pleat::cli
