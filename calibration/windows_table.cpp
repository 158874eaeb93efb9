// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What symmetric windows spare: collectives with them beside the same ones without.
#include <fmt/format.h>

#include <map>

#include "calibration/calibrate.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {

std::string print_windows(const CalibrationResult& result) {
  std::map<std::string, Seconds> without;
  for (const Sample& s : result.samples) without[s.name] = s.time;
  std::string text;
  for (const Sample& s : result.samples) {
    const auto* c = std::get_if<CollectiveSample>(&s.point);
    if (c == nullptr || !c->windows) continue;
    const std::string name = s.name.substr(0, s.name.size() - kInWindows.size());
    const auto plain = without.find(name);
    if (plain == without.end()) continue;
    if (text.empty()) {
      text = fmt::format("\n{:<48}{:>14}{:>14}{:>8}\n", "collective", "without", "in windows",
                         "of it");
    }
    text += fmt::format("{:<48}{:>11.2f} us{:>11.2f} us{:>8.2f}\n", name,
                        plain->second.base() * 1e6, s.time.base() * 1e6, s.time / plain->second);
  }
  return text;
}

}  // namespace pleat
