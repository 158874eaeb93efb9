// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The winner of a search against two plans that it beat: chosen to differ, then run in turns, so
// that whatever else happens on the machine meets all of them alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/trainer.hpp"
#include "planner/search.hpp"

namespace pleat::cli {

struct Contender {
  std::string label;  // "winner", "loser 1"
  Plan plan;
  StepEstimate predicted;
  std::vector<double> medians{};    // seconds, one a round
  std::int64_t measured_bytes = 0;  // most of any rank, in a run of one step
  std::int64_t recorded_bytes = 0;  // the memory model's answer for that run's routing
};

// Predicted slower than the winner by more than this: one of the losers is, and if there is a plan
// beyond the second number, that one, for the first is within the error of many a prediction.
inline constexpr double kClearlySlower = 1.2;
inline constexpr double kFarSlower = 1.4;

// The winner and up to two losers, one of them clearly slower where the candidates have such a one.
// `candidates` are in order of time and not empty.
[[nodiscard]] std::vector<Contender> choose_contenders(const std::vector<Candidate>& candidates);

struct ContestConfig {
  TrainConfig train;    // steps, on_step and trace are set here
  int rounds = 5;
  double seconds = 45;  // for all rounds together, if the predictions hold
};

// One step each for the memory, then the rounds in turns.
void run_contest(const ModelSpec&, const WorkloadSpec&, const ContestConfig&,
                 std::vector<Contender>&);

[[nodiscard]] Seconds measured_step(const Contender&);  // median of the medians
// (largest - smallest median) / median of the rounds.
[[nodiscard]] double round_spread(const Contender&);

}  // namespace pleat::cli
