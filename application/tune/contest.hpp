// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The winner of a search against two plans that it beat: chosen to differ, then run in turns, so
// that whatever else happens on the machine meets all of them alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "backend/trainer.hpp"
#include "planner/search_result.hpp"

namespace pleat {

struct Contender {
  std::string label;  // "winner", "loser 1"
  Plan plan;
  StepEstimate predicted;
  std::vector<double> medians{};    // seconds, one a round
  std::vector<double> worked{};     // core-seconds of a step, one a round
  std::int64_t measured_bytes = 0;  // most of any rank, in a run of one step
  std::int64_t recorded_bytes = 0;  // the memory model's answer for that run's routing
  double imbalance = 1;             // WorkloadSpec::imbalance of the last step measured
  Seconds recorded_step{};          // predicted with it
};

// Predicted slower than the winner by more than this: one of the losers is, and if there is a plan
// beyond the second number, that one, for the first is within the error of many a prediction.
inline constexpr double kClearlySlower = 1.2;
inline constexpr double kFarSlower = 1.4;

// The winner and up to two losers, one of them clearly slower where the candidates have such a one.
// `candidates` are in order of time and not empty.
[[nodiscard]] std::vector<Contender> choose_contenders(const std::vector<Candidate>& candidates);

// Whether the bundled backend runs the plan.
[[nodiscard]] bool runs_here(const Target&, const Plan&);

// Up to `count` plans, fastest first: the winner and plans from all over the candidates' range of
// times, on different grids where there are such ones; a third of them are variants of the winner
// that a search does not list: recomputed, sharded, offloaded, in bf16.
[[nodiscard]] std::vector<Contender> spread_contenders(const Target&,
                                                       const std::vector<Candidate>& candidates,
                                                       std::size_t count);

inline constexpr int kMostContestSteps = 16;  // of one run

struct ContestConfig {
  TrainConfig train;    // steps, on_step and trace are set here
  int rounds = 5;
  double seconds = 45;  // for all rounds together, if the predictions hold
};

// One step each for the memory, then the rounds in turns.
void run_contest(const Target&, const ContestConfig&, std::vector<Contender>&);

// How well the predictions do: half of the |errors| are smaller than `median_error`; of the pairs
// of plans predicted more than kClearlySlower apart `ranked` are measured in that order.
struct Accuracy {
  double median_error = 0;
  int pairs = 0, ranked = 0;
};
// Of the predictions before the run, or of those that know its routing.
enum class Foresight { before, recorded_routing };
[[nodiscard]] Accuracy accuracy_of(const std::vector<Contender>&, Foresight = Foresight::before);
[[nodiscard]] Seconds predicted_step(const Contender&, Foresight);

[[nodiscard]] Seconds measured_step(const Contender&);  // median of the medians
// What the step would take if its ranks kept all cores busy that they can use: what a disturbed
// measurement is to be compared with.
[[nodiscard]] Seconds worked_step(const Contender&, int cores);
// (largest - smallest median) / median of the rounds.
[[nodiscard]] double round_spread(const Contender&);

}  // namespace pleat
