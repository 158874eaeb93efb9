// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs of one's own, as their files tell them: rows as `pleat validate` takes, Megatron logs,
// logs of `pleat train`, plan files that say what a log ran.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/plan/plan_document.hpp"
#include "validation/measured_run.hpp"

namespace pleat {

// A log: what ran and how long a step took.
struct LoggedRun {
  std::string file;
  PlanDocument document;  // its cluster is empty where the log does not name it
  double seconds = 0;     // median of the steps after the first three
  std::size_t steps = 0;  // so many
};

using GivenRun = std::variant<MeasuredRun, LoggedRun>;

// In the order of the files. A plan file says what the logs after it ran, up to the next plan file;
// a Megatron log that prints its arguments needs none. What a log leaves open is said on stderr.
// ConfigError for what cannot be read, and for a log of which nothing says what ran.
[[nodiscard]] std::vector<GivenRun> read_given_runs(const std::vector<std::string>& files);

}  // namespace pleat
