// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A training run beside its prediction, from its log: is it as fast as it should be, does it get
// slower, how long will it take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "application/exchange/priced_document.hpp"
#include "core/json/json_value.hpp"
#include "interop/run_log.hpp"

namespace pleat {

struct WatchOptions {
  std::string log, plan;         // plan: a plan file, or empty
  std::string profile = {};      // empty: the plan's usual one
  int warmup = 3;                // first steps that are left out, fewer if there are few
  int window = 50;               // latest steps that "now" is the median of
  std::int64_t steps = 0;        // of the whole run; 0: as the log says
  std::optional<double> tokens = {};  // of the whole run, instead of steps; needs the plan
};

// Seconds are of one step.
struct WatchReport {
  std::string writer;              // of the log
  std::int64_t step = 0;           // the latest
  std::optional<double> loss;      // its loss; may be NaN
  std::int64_t planned_steps = 0;  // 0: not known
  std::size_t used = 0, dropped = 0;
  double median = 0;  // of all that are used
  double now = 0;     // median of the latest `window`
  double first = 0;   // median of the first `window`; 0: too few to compare
  double slowest = 0;
  std::int64_t slowest_step = 0;
  std::size_t slow_steps = 0;  // longer than 1.5 times the median: saves, restarts, stragglers
  double lost_share = 0;       // of the time of all used steps, what those took beyond the median
  std::optional<PricedDocument> predicted;
  std::vector<interop::RunTimer> timers;
  std::vector<interop::RunStep> steps;  // all, by number

  enum class Verdict { unknown, faster, within, slower };
  [[nodiscard]] Verdict verdict() const;      // `now` against the prediction's band
  [[nodiscard]] double seconds_left() const;  // slow steps go on as they were; 0: not known
  [[nodiscard]] bool is_over() const { return planned_steps > 0 && step >= planned_steps; }
};

// Compares those of Megatron-LM's arguments that make it another run. ConfigError (verification)
// names all that differ; nothing for a log that does not print them.
void require_same_run(const interop::RunLog&, const PlanDocument&, const std::string& log_file,
                      const std::string& plan_file);

// Throws ConfigError: a log that cannot be read or has no step (bad_file), a plan file that is
// wrong, a log whose arguments contradict the plan (verification).
[[nodiscard]] WatchReport watch_run(const WatchOptions&);

// What the plan's prediction has for a timer of Megatron-LM, where both mean the same. Seconds.
[[nodiscard]] std::optional<double> predicted_timer(const WatchReport&, const std::string& name);

// "step time", "7.015 s now, …" and what else is known, a fact a row.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> watch_facts(const WatchReport&);
[[nodiscard]] std::string watch_text(const WatchReport&, const std::string& log,
                                     std::size_t columns);
// "step 120 of 5,000, loss 2.3100, 2.310 s a step (predicted 2.200 s), 454,000 tokens/s, 3.1 h
// left"
[[nodiscard]] std::string watch_line(const WatchReport&);
[[nodiscard]] JsonValue watch_json(const WatchReport&);

}  // namespace pleat
