// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/run_era.hpp"

#include <algorithm>
#include <charconv>
#include <regex>

namespace pleat {
namespace {

// "25.11" or "2026-07": year, separator, month.
std::optional<int> month_of(const std::string& text, char separator) {
  int year = 0, month = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, year);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != separator) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, month);
  if (second.ec != std::errc() || month < 1 || month > 12) return std::nullopt;
  return (year % 100) * 12 + month - 1;
}

// "Parallel Folding (2504.14960)": an arXiv number begins with year and month.
std::optional<int> month_of_paper(const std::string& text) {
  static const std::regex number(R"(\((\d\d)(0[1-9]|1[0-2])\.\d{5}\))");
  std::smatch found;
  if (!std::regex_search(text, found, number)) return std::nullopt;
  return std::stoi(found[1]) * 12 + std::stoi(found[2]) - 1;
}

}  // namespace

std::optional<int> month_of_era(const std::string& era) {
  if (era.starts_with("nemo-")) return month_of(era.substr(5), '.');
  if (era.starts_with("main-")) return month_of(era.substr(5), '-');
  return month_of_paper(era);
}

Profile profile_of_era(const Profile& profile, const std::string& era) {
  const auto named = [&](const Era& e) { return e.name == era; };
  if (std::any_of(profile.eras.begin(), profile.eras.end(), named)) return for_era(profile, era);
  const std::optional<int> month = month_of_era(era);
  const Era* last = nullptr;
  std::optional<int> last_month;
  for (const Era& e : profile.eras) {
    const std::optional<int> begins = month_of_era(e.name);
    if (!month || !begins || *begins > *month || (last_month && *begins < *last_month)) continue;
    last = &e;
    last_month = begins;
  }
  return last == nullptr ? profile : for_era(profile, last->name);
}

}  // namespace pleat
