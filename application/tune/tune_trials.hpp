// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat tune --on`: the best plans of a search, run for a few steps each where they are to train,
// until no other is expected to be worth a trial.
#pragma once

#include <string>
#include <vector>

#include "application/target.hpp"
#include "interop/launch.hpp"
#include "planner/search_config.hpp"

namespace pleat {

enum class TuneOn { local, mpirun, slurm };

struct TrialsOptions {
  TuneOn on = TuneOn::local;
  std::string script;              // a job file of the user's; empty: ours
  std::string out = "pleat-tune";  // folder that all nodes see: a folder a trial, the winner
  std::string trials_file;         // empty: tune.sqlite in `out`
  int trials = 12;                 // with those of the file
  int parallel = 1;                // at a time
  int steps = 10;                  // of a trial
  double budget = 7200;            // seconds, with those that the file has used
  double trial_seconds = 900, queue_seconds = 3600;  // a trial may run, and wait in the queue
  double interval = 2;                               // seconds between looks
  double least_gain = 0.005;                         // expected, of a step, for another trial
  int gpus_per_node = 0;                             // 0: the cluster's
  std::string data = "bible";                        // `pleat train`'s
  double lr = 3e-3;
  interop::LaunchSlots slots;
  std::string version;  // Pleat's
  bool dry_run = false, json = false;
};

// Searches, runs, prints. ConfigError for a request that cannot run, a missing or unwilling
// scheduler, a log of another run, trials of another tuning, and where no trial could be measured;
// what happens to a single job is its trial's result.
void tune_trials(const Target&, const SearchConfig&, const TrialsOptions&);

}  // namespace pleat
