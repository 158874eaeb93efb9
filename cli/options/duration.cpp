// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/duration.hpp"

#include <charconv>

#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

constexpr double kYear = 366.0 * 86'400;

// 0 for a letter that is no unit.
double unit_seconds(char unit) {
  return unit == 's' ? 1 : unit == 'm' ? 60 : unit == 'h' ? 3600 : unit == 'd' ? 86'400 : 0;
}

}  // namespace

double read_duration(const std::string& text, const std::string& flag) {
  double seconds = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  bool valid = !text.empty();
  while (valid && at != end) {
    double value = 0;
    const auto read = std::from_chars(at, end, value, std::chars_format::fixed);
    valid = read.ec == std::errc() && read.ptr != end && value >= 0 && unit_seconds(*read.ptr) > 0;
    if (!valid) break;
    seconds += value * unit_seconds(*read.ptr);
    at = read.ptr + 1;
  }
  if (valid && seconds > 0 && seconds <= kYear) return seconds;
  throw_config_error(ExitCode::bad_request, flag, "", "'" + text + "' is no length of time",
                     "90s, 15m, 2h or 1h30m");
}

}  // namespace pleat::cli
