// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The files of a trial: its plan, its job file, the variables that a script of the user's reads.
#pragma once

#include <string>

#include "application/tune/job_runner.hpp"
#include "application/tune/trial.hpp"
#include "application/tune/tune_trials.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {

// "…/trial-004", absolute.
[[nodiscard]] std::string trial_folder(const TrialsOptions&, int number);
[[nodiscard]] std::string trial_plan_file(const TrialsOptions&, int number);

// What its job is called and gets, whether or not the files are there.
[[nodiscard]] TrialJob trial_job(const TrialsOptions&, const Target&, int number);

// plan.json, and job.sh or, for the user's script, args.sh: a file to source that defines
// MEGATRON_ARGS or PLEAT_ARGS and exports what they need. ConfigError (bad_request) for a plan that
// the runtime cannot run, and for what our job file lacks ("DATA_PATH is not set").
void write_trial_files(const TrialsOptions&, const Target&, int number, const PlanDocument&);

// How the winner's plan file is trained for good, as a person would type it.
[[nodiscard]] std::string winner_command(const TrialsOptions&, const Target&,
                                         const std::string& plan_file);

}  // namespace pleat
