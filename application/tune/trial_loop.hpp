// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Trials from the first to the last: chosen, started, looked at, judged, kept.
#pragma once

#include <string>
#include <vector>

#include "application/tune/job_runner.hpp"
#include "application/tune/trial_choice.hpp"
#include "application/tune/trial_pool.hpp"
#include "application/tune/trial_store.hpp"
#include "application/tune/tune_trials.hpp"

namespace pleat {

// The choice among a pool's plans, before any trial.
[[nodiscard]] TrialChoice choice_of(const TrialPool&, const Profile&);

// A trial of the plan that was chosen; `first`: no trial was before it.
[[nodiscard]] Trial chosen_trial(const TrialPool&, const TrialChoice::Next&, int number,
                                 bool first);

// Tells the choice what became of a trial. After one that ran out of memory plans that are
// predicted to need as much are left out: so many.
int teach(TrialChoice&, const TrialPool&, const Trial&, std::size_t plan);

struct TrialsEnd {
  std::vector<Trial> trials;  // all of them over, by number
  std::string why;            // "no other plan is expected to gain 0.5%"
};

// Takes up what the file has and goes on until the end. Ctrl-C ends the process and leaves the jobs
// alone. ConfigError as tune_trials says.
[[nodiscard]] TrialsEnd run_trials(const Target&, const TrialsOptions&, TrialPool&, TrialStore&,
                                   JobRunner&, const std::string& trials_file);

}  // namespace pleat
