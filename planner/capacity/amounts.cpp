// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/amounts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace pleat {
namespace {

struct Suffix {
  std::string_view name;
  double factor;
};
constexpr Suffix kCounts[] = {{"", 1},    {"k", 1e3}, {"K", 1e3}, {"M", 1e6},
                              {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
constexpr Suffix kTimes[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86'400}, {"w", 604'800},
                              {"mo", 2'629'800}, {"y", 31'557'600}};  // a twelfth of 365.25 days

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

ParsedAmount parse(std::string_view text, std::span<const Suffix> suffixes) {
  const std::string shown(text.substr(0, 40));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) {
    return {{}, fmt::format("\"{}\" is not a number", shown)};
  }
  const std::string_view name =
      trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  for (const Suffix& s : suffixes) {
    if (s.name != name) continue;
    if (!(value > 0)) return {{}, fmt::format("\"{}\" is not above 0", shown)};
    return {value * s.factor, {}};
  }
  return {{}, name.empty() ? fmt::format("\"{}\" has no unit", shown)
                           : fmt::format("\"{}\" has the unknown unit \"{}\"", shown, name)};
}

}  // namespace

ParsedAmount parse_count(std::string_view text) { return parse(trimmed(text), kCounts); }

ParsedAmount parse_duration(std::string_view text) { return parse(trimmed(text), kTimes); }

ParsedAmount parse_dollars(std::string_view text) {
  std::string_view number = trimmed(text);
  if (number.starts_with('$')) {
    number.remove_prefix(1);
  } else if (number.ends_with('$')) {
    number.remove_suffix(1);
  } else if (number.ends_with("USD")) {
    number.remove_suffix(3);
  }
  return parse(trimmed(number), kCounts);
}

std::string amount_text(double count) {
  constexpr std::array<Suffix, 5> kSizes{
      {{"T", 1e12}, {"B", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1}}};
  for (const Suffix& s : kSizes) {
    if (count >= s.factor || s.factor == 1)
      return fmt::format("{:.4g}{}", count / s.factor, s.name);
  }
  return {};
}

std::string dollars_text(double dollars) { return amount_text(dollars) + " USD"; }

std::string days_text(Seconds time) { return fmt::format("{:.2f} days", time.base() / 86'400); }

double round_down(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) + 1 - digits);
  return std::floor(value / unit) * unit;
}

}  // namespace pleat
