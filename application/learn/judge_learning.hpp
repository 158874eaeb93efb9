// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How much a profile gains by learning from a few runs: some runs of a cluster and model are given,
// the error of the others is compared before and after, for all published runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json_value.hpp"
#include "validation/comparison.hpp"

namespace pleat {

struct JudgeOptions {
  int given = 2;           // runs that a profile learns from
  int draws = 10;          // of such runs, a group
  std::uint64_t seed = 1;  // of the draws
  std::size_t least = 5;   // runs of a group; smaller ones are left out
  int threads = 0;
};

// Runs of one cluster and model. Errors are medians over the runs that were not given, and means
// over the draws.
struct JudgedGroup {
  std::string cluster, model;
  std::size_t runs = 0;
  double before = 0, after = 0;                // |predicted / measured - 1|
  double worst_change = 0;                     // of a draw: after less before
  double inside_before = 0, inside_after = 0;  // share of runs inside their band
  double band_before = 0, band_after = 0;      // half-width, mean
  int refused = 0;  // draws whose runs disagree: the profile stays as it is
  [[nodiscard]] double fall() const { return before > 0 ? 1 - after / before : 0; }
};

struct Judgement {
  std::vector<JudgedGroup> groups;  // the largest first
  double median_fall = 0;           // over the groups
  double worst_change = 0;          // of a group: after less before
};

// `rows` as compare_runs gives them for this catalog.
[[nodiscard]] Judgement judge_learning(const std::vector<ComparedRun>& rows, RunCatalog&,
                                       const JudgeOptions&);

[[nodiscard]] std::string judgement_text(const Judgement&, const JudgeOptions&);
[[nodiscard]] JsonValue judgement_json(const Judgement&);

}  // namespace pleat
