// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace pleat {
namespace {

constexpr double kSpreads = 3;  // that what is behind must be over

std::string steps_text(const TrialReading& r, int steps) {
  return fmt::format("{} of {} steps", r.steps, steps);
}

std::string ended_text(const JobLook& l) {
  // A shell and srun tell of a signal by 128 and its number.
  const int signal = l.signal != 0 ? l.signal : l.exit_code > 128 ? l.exit_code - 128 : 0;
  if (const char* const name = sigabbrev_np(signal); signal != 0 && name != nullptr)
    return fmt::format("ended by signal {} (SIG{})", signal, name);
  if (l.has_code) return fmt::format("exit code {}", l.exit_code);
  return l.completed ? "it ended by itself" : l.why;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return seconds < 7200 ? fmt::format("{:.1f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

TrialVerdict judge_ended(const JobLook& look, const TrialReading& r, int steps) {
  if (r.steps >= steps || (look.completed && r.steps >= 2)) return {TrialOutcome::measured, ""};
  if (look.out_of_memory || r.out_of_memory)
    return {TrialOutcome::out_of_memory, "after " + steps_text(r, steps)};
  if (look.timed_out)
    return {TrialOutcome::hung, steps_text(r, steps) + " within the job's time limit"};
  if (look.cancelled) return {TrialOutcome::cancelled, "by scancel, after " + steps_text(r, steps)};
  return {TrialOutcome::failed, fmt::format("{} after {}{}", ended_text(look), steps_text(r, steps),
                                            r.last_words.empty() ? "" : ": " + r.last_words)};
}

std::optional<double> rung_tolerance(int counted, double spread) {
  if (counted < kFirstRung) return std::nullopt;
  double share = kClearlyBehind;
  for (int rung = 2 * kFirstRung; rung <= counted; rung *= 2) share /= 2;
  return std::max(share, kSpreads * spread);
}

int steps_until_stopped(double ratio, int steps) {
  const int warmup = trial_warmup(steps);
  for (int n = warmup + 1; n < steps; ++n) {
    const auto tolerance = rung_tolerance(n - warmup, 0);
    if (tolerance && ratio > 1 + *tolerance) return n;
  }
  return steps;
}

std::optional<TrialVerdict> judge_running(const TrialReading& r, int steps, const RunningTimes& t) {
  const int warmup = trial_warmup(r.steps);
  const double spread = r.fastest > 0 ? r.seconds / r.fastest - 1 : 0;
  const auto tolerance =
      warmup == trial_warmup(steps) ? rung_tolerance(r.steps - warmup, spread) : std::nullopt;
  if (t.best && tolerance && r.steps < steps && r.fastest > (1 + *tolerance) * *t.best) {
    return TrialVerdict{TrialOutcome::behind,
                        fmt::format("stopped after {}: none took less than {:.2f} times the best "
                                    "trial's",
                                    steps_text(r, steps), r.fastest / *t.best)};
  }
  if (t.running <= t.limit) return std::nullopt;
  return TrialVerdict{TrialOutcome::hung,
                      fmt::format("{} in {}, nothing new for {}", steps_text(r, steps),
                                  duration_text(t.running), duration_text(t.since_last_step))};
}

}  // namespace pleat
