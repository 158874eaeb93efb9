// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// When a run ends, as a distribution. Failures come at random, the step time is known up to a band,
// and the mean time between failures (mtbf) up to a factor (docs/MODEL.md section 12).
#pragma once

#include "planner/reliability/renewal.hpp"

namespace pleat {

// The 90% quantile of the standard normal distribution.
inline constexpr double kNormal90 = 1.2815515655446004;

struct TrainingRun {
  SaveCycle cycle;         // with the medians of step time and mtbf
  double cycles = 1;       // of the whole run; the last may be a part of one
  Seconds start;           // from the start of the job to its first step
  // How uncertain the two are. Both are log-normal; 1: known exactly.
  double step_factor = 1;  // 90% quantile of the step time over its median
  double mtbf_factor = 1;  // median of the mtbf over its 10% quantile
};

struct FinishTime {
  Seconds expected;  // over failures, with the medians of step time and mtbf
  Seconds p50, p90;  // over failures, step times and mtbfs
};

// Infinite where failures come so often that the run makes no progress.
[[nodiscard]] FinishTime finish_time(const TrainingRun&);

}  // namespace pleat
