// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// When a run ends, as a distribution: failures at random, a step time known to a band, an mtbf known
// to a factor (docs/MODEL.md section 12).
#pragma once

#include "planner/reliability/renewal.hpp"

namespace pleat {

// z with P(Z <= z) = 0.9 of a standard normal: factors below are 90% quantiles.
inline constexpr double kNormal90 = 1.2815515655446004;

struct TrainingRun {
  SaveCycle cycle;         // at the median step time and mtbf
  double cycles = 1;       // may be fractional
  Seconds start;           // before the first step
  double step_factor = 1;  // P90 over median of the step time, log-normal; 1: known
  double mtbf_factor = 1;  // median over P10 of the mtbf, log-normal; 1: known
};

struct FinishTime {
  Seconds expected;  // at the median step time and mtbf
  Seconds p50, p90;  // over failures, step time and mtbf
};

// Infinite where the run makes no progress.
[[nodiscard]] FinishTime finish_time(const TrainingRun&);

}  // namespace pleat
