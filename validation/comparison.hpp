// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Predicted against measured: every row, and the statistics of their errors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "validation/predict_run.hpp"
#include "validation/recipe_places.hpp"

namespace pleat {

// What is said about many errors at once.

// Linear between the two nearest values (NumPy's default); 0 of nothing. fraction in [0, 1].
[[nodiscard]] double quantile(std::vector<double> values, double fraction);
[[nodiscard]] double mean(const std::vector<double>& values);

struct ErrorSummary {
  std::size_t count = 0;
  double median = 0, p90 = 0, mean = 0, worst = 0;  // of |error|
  double bias = 0;                                  // median of the signed errors
  bool operator==(const ErrorSummary&) const = default;
};
[[nodiscard]] ErrorSummary summarise(const std::vector<double>& signed_errors);

// One of several layouts of a run: what it took and what was predicted.
struct TimedLayout {
  double measured = 0, predicted = 0;
};

// Time lost by taking the layout predicted best, over the best one's time. Needs one choice.
[[nodiscard]] double regret(const std::vector<TimedLayout>&);

// Pairs whose measured times differ, and how many of them are predicted in the same order; equal
// predictions count half.
struct PairCount {
  double same_order = 0;
  std::size_t pairs = 0;
};
[[nodiscard]] PairCount concordance(const std::vector<TimedLayout>&);

// Predicted against measured: every row, and what they say together.

struct ComparedRun {
  MeasuredRun run;
  std::optional<RunPrediction> prediction;
  std::string reason;                 // of a miss
  std::optional<MeasuredStep> step;   // measured
  std::optional<double> error;        // predicted / measured - 1
  std::optional<double> memory_error;

  // Counted as a miss: something was measured and nothing predicted.
  [[nodiscard]] bool missed() const { return !prediction; }
};

// Predicts all runs; deterministic whatever the number of threads (0: all cores).
[[nodiscard]] std::vector<ComparedRun> compare_runs(const std::vector<MeasuredRun>&, RunCatalog&,
                                                    int threads);

// One line of a summary table: what the rows have in common, and their errors.
struct SummaryLine {
  std::string value;  // "A", "h100-sxm"
  ErrorSummary errors;
  std::size_t missed = 0;
  std::size_t inside_band = 0;  // rows whose measured time lies in low … high
};
struct SummaryTable {
  std::string name;  // "tier", "cluster", …
  std::vector<SummaryLine> lines;
};

struct MissedReason {
  std::string reason;
  std::vector<std::string> ids;
};

// Rows of the same settings: the largest measured time over the smallest, less 1.
struct NoiseFloor {
  std::size_t groups_same_era = 0, groups_any_era = 0;
  ErrorSummary same_era, any_era;
};

// Runs of one model, machine and workload that differ in their plan: how well a predictor chooses.
struct Choosing {
  std::size_t groups = 0, pairs = 0;      // groups of two runs and more
  double mean_regret = 0, concordance = 0;  // time lost by its best; share of pairs in order
};

// One predictor on rows that carry the same peers' predictions.
struct PeerLine {
  std::string name;  // "pleat", "calculon"
  ErrorSummary few, many, all;  // 2–8 GPUs, 64–512 GPUs, every row with peers
  ErrorSummary memory;
  Choosing choosing;
};

struct PeerTable {
  std::string tiers;  // of its rows, "V-multi, V-single"
  std::size_t rows = 0;
  std::vector<PeerLine> lines;  // pleat first
};

struct Summary {
  std::size_t rows = 0, predicted = 0, missed = 0;
  ErrorSummary all, memory;
  std::vector<SummaryTable> tables;
  std::vector<MissedReason> reasons;
  NoiseFloor noise;
  // Ids of rows that differ in what a plan does not say (not_told_apart.hpp).
  std::vector<std::vector<std::string>> not_told_apart;
  Choosing choosing;  // Pleat's, over every row that says its group; of those one
  std::vector<PeerTable> peers;  // a table for each set of peers; empty without any
  std::vector<RecipePlace> recipes;  // if asked for
};
[[nodiscard]] Summary summarise_runs(const std::vector<ComparedRun>&);

// The parts of the step, largest first, those above nothing.
[[nodiscard]] std::vector<std::pair<std::string, double>> largest_terms(const StepEstimate&);

}  // namespace pleat
