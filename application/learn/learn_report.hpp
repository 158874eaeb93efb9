// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What was learned from runs, as text.
#pragma once

#include <string>
#include <vector>

#include "calibration/learn/learn.hpp"

namespace pleat {

[[nodiscard]] std::string runs_text(std::size_t count);  // "1 run", "5 runs"

// Medians of the half-widths of the runs' bands.
struct LearnedBands {
  double before = 0, after = 0;
};
[[nodiscard]] LearnedBands learned_bands(const std::vector<RunToLearn>&, const Profile& before,
                                         const Profile& after);

[[nodiscard]] std::string learn_text(const Profile& learned, const LearnedBands&);

}  // namespace pleat
