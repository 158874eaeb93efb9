// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a look at a trial's job and its log mean for the trial.
#pragma once

#include <optional>
#include <string>

#include "application/tune/job_runner.hpp"
#include "application/tune/trial.hpp"
#include "application/tune/trial_log.hpp"

namespace pleat {

struct TrialVerdict {
  TrialOutcome outcome = TrialOutcome::none;
  std::string reason;  // empty for one that is measured
};

// Its fastest step over the best trial's step, from where on a trial is stopped.
inline constexpr double kClearlyBehind = 1.2;

// Of a job that is over; `steps` were wanted. All steps are a measurement whatever came after them.
[[nodiscard]] TrialVerdict judge_ended(const JobLook&, const TrialReading&, int steps);

struct RunningTimes {  // seconds
  double running = 0, since_last_step = 0;
  double limit = 0;              // a trial may run
  std::optional<double> best{};  // step of the best trial so far
};
// Of one that runs; nothing: it goes on.
[[nodiscard]] std::optional<TrialVerdict> judge_running(const TrialReading&, int steps,
                                                        const RunningTimes&);

[[nodiscard]] std::string duration_text(double seconds);  // "42 s", "3.5 min", "1.2 h"

}  // namespace pleat
