// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan that is run for a few steps, and what came of it.
#pragma once

#include <cstdint>
#include <string>

namespace pleat {

// starting: it may or may not have been handed over; its runner finds out (JobRunner::find).
enum class TrialState : std::uint8_t { starting, running, over };

enum class TrialOutcome : std::uint8_t {
  none,      // not over yet
  measured,  // all its steps
  behind,    // stopped early: clearly slower than the best trial; its step time counts
  out_of_memory,
  hung,           // no new step, or not done, within its time
  cancelled,      // by somebody else
  never_started,  // it waited in the queue too long
  cut_off,        // the budget ended first
  failed,
};

struct Trial {
  int number = 1;    // from 1
  std::string plan;  // the plan document that it runs
  std::string why;   // it was chosen
  std::string job;   // as its runner names it; empty: not known
  TrialState state = TrialState::starting;
  TrialOutcome outcome = TrialOutcome::none;
  std::string reason;                  // of the outcome; empty for one that is measured
  double predicted = 0, expected = 0;  // seconds a step: before any trial, and as it was chosen
  double low = 0, high = 0;            // the band when it was chosen
  std::int64_t predicted_bytes = 0;    // of the fullest rank
  int steps = 0;                       // finished ones
  double seconds = 0;                  // median step after its first; 0: not measured
  std::int64_t bytes = 0;              // measured peak of a rank; 0: the log does not say
  double started = 0, ended = 0;       // Unix time; 0: not yet

  [[nodiscard]] bool is_measured() const {
    return outcome == TrialOutcome::measured || outcome == TrialOutcome::behind;
  }
};

[[nodiscard]] const char* name_of(TrialState);
[[nodiscard]] const char* name_of(TrialOutcome);  // "out of memory"

}  // namespace pleat
