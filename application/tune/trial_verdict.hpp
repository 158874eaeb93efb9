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

// A trial's steps are run in rungs: after 2, 4, 8, … steps that count, one that is clearly behind
// the best trial is stopped. "Clearly" is a fifth at the first rung and half as much at each
// further one, but no less than three times what its own steps differ by.
inline constexpr double kClearlyBehind = 0.2;
inline constexpr int kFirstRung = 2;

// How much its fastest step may take over the best trial's after so many steps that count, as a
// share; nothing before the first rung. `spread`: its median step over its fastest, less 1.
[[nodiscard]] std::optional<double> rung_tolerance(int counted, double spread);

// Steps until a trial is stopped, all of whose steps take `ratio` times the best trial's; `steps`
// where it is not.
[[nodiscard]] int steps_until_stopped(double ratio, int steps);

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
