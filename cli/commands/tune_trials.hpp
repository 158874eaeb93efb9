// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat tune --on`: its options and what they ask for.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

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

struct TuneRequest {
  const CLI::App* command = nullptr;  // knows which options were typed
  TuneOptions here;                   // and what trials have in common with it
  TargetOptions target;
  TuneTrialsOptions trials;
  std::vector<std::string> replayed;  // files of measured runs, in place of running anything
};

// All that has a meaning with --on only.
void add_trials_options(CLI::App&, TuneTrialsOptions&);

}  // namespace pleat::cli
