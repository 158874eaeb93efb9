// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How good the choice of trials is: replayed over runs that were measured, several plans of one
// model, cluster and batch each. What would have been lost had one stopped after so many trials?
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/json/json_value.hpp"
#include "validation/comparison.hpp"

namespace pleat {

inline constexpr std::size_t kReplayTrials = 5;

// Measured time of the best plan that was tried over that of the best plan there is, less 1, after
// 1, 2, … trials.
using Regrets = std::array<double, kReplayTrials>;

// The same after so many steps spent, where trials take ten each.
inline constexpr std::array<int, 4> kReplaySteps{15, 20, 25, 30};
using StepRegrets = std::array<double, kReplaySteps.size()>;

struct ReplayedGroup {
  std::string name, cluster;
  std::size_t plans = 0;
  Regrets random{};     // the mean over all orders
  Regrets predicted{};  // the shortest prediction first
  Regrets chosen{};     // as `pleat tune --on` chooses
  StepRegrets whole{};  // in that order, every trial with all its steps
  StepRegrets rungs{};  // what is clearly behind stopped at its rung
  double steps = 0;     // of the first five trials, with rungs
};

struct Replay {
  std::vector<ReplayedGroup> groups;  // in the order of the rows
  struct Line {
    Regrets mean{}, worst{};  // over the groups
  };
  Line random, predicted, chosen;
  StepRegrets whole{}, rungs{};  // means
  double steps = 0;
};

// Groups with fewer plans than `least` are left out; rows without a group, a prediction or a
// measured step are no plans. `rows` as compare_runs gives them for this catalog.
[[nodiscard]] Replay replay_trials(const std::vector<ComparedRun>& rows, RunCatalog&,
                                   std::size_t least, int threads);

// Reads files of rows, replays, prints. ConfigError (bad_file) where no group is large enough.
void replay_files(const std::vector<std::string>& files, bool json);

// The mean over all orders of `regrets` (of each plan), after 1, 2, … trials.
[[nodiscard]] Regrets random_regrets(std::vector<double> regrets);

}  // namespace pleat
