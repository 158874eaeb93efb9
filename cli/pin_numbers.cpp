// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/pin_numbers.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>

namespace pleat::cli {
namespace {

constexpr std::size_t kMostNumbers = 4096;  // of a pin

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

std::vector<int> parse_numbers(const std::vector<std::string>& words, const std::string& flag,
                               int least, int most) {
  std::vector<int> numbers;
  for (const std::string& word : words) {
    const std::size_t dots = word.find("..");
    const auto first = whole_number(word.substr(0, dots));
    const auto last = dots == std::string::npos ? first : whole_number(word.substr(dots + 2));
    if (!first || !last) {
      throw CLI::ValidationError(
          flag, fmt::format("'{}' is neither a whole number nor a range such as 2..8", word));
    }
    if (*first < least || *last > most || *first > most) {
      throw CLI::ValidationError(
          flag, fmt::format("Value {} not in range [{} - {}]", word, least, most));
    }
    if (*last < *first) {
      throw CLI::ValidationError(
          flag, fmt::format("the range {} is empty: {}..{}?", word, *last, *first));
    }
    if (static_cast<std::size_t>(*last - *first) >= kMostNumbers - numbers.size()) {
      throw CLI::ValidationError(flag, fmt::format("more than {} numbers", kMostNumbers));
    }
    for (int n = *first; n <= *last; ++n) {
      if (std::ranges::find(numbers, n) == numbers.end()) numbers.push_back(n);
    }
  }
  return numbers;
}

}  // namespace pleat::cli
