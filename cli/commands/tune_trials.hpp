// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat tune --on`: its options and what they ask for.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "application/request/search_request.hpp"
#include "application/tune/tune.hpp"
#include "application/tune/tune_trials.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

struct TuneTrialsOptions {
  std::string on;  // local, mpirun, slurm; empty: no trials
  SearchOptions search;
  TrialsOptions trials;
  std::string budget = "2h", trial_time = "15m", queue_time = "1h";
};

// All that has a meaning with --on only.
void add_trials_options(CLI::App&, TuneTrialsOptions&);

// `command` knows which options were typed; `shared` has those of both ways to tune.
void run_tune_trials(const CLI::App& command, TuneTrialsOptions, TargetOptions,
                     const TuneOptions& shared);

}  // namespace pleat::cli
