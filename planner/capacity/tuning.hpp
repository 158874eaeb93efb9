// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How near to the best plan a job runs in practice: published runs over what the search finds for
// them (docs/MODEL.md section 12).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pleat {

enum class Tuning : std::uint8_t { untuned, typical, best };

// Of the step time: a run's over the predicted one of the best plan, at the median and at the 90%
// quantile. Measured: calibration/tables/tuning.py prints them from published runs.
struct TuningFacts {
  const char* word;
  double median, p90;
  const char* meaning;
};
inline constexpr std::array<TuningFacts, 3> kTunings{{
    {"untuned", 1.33, 2.29, "a layout that nobody compared with others"},
    {"typical", 1.14, 1.70, "a published recipe"},
    {"best", 1, 1, "the plan that was found, as predicted"},
}};

[[nodiscard]] constexpr const TuningFacts& facts_of(Tuning t) {
  return kTunings[static_cast<std::size_t>(t)];
}
[[nodiscard]] constexpr std::optional<Tuning> tuning_named(std::string_view word) {
  for (std::size_t i = 0; i < kTunings.size(); ++i) {
    if (word == kTunings[i].word) return static_cast<Tuning>(i);
  }
  return std::nullopt;
}

}  // namespace pleat
