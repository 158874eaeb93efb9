// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The answer to a capacity question. Text, JSON, CSV and reports are made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/misses.hpp"
#include "planner/capacity/offers.hpp"
#include "planner/capacity/sensitivity.hpp"
#include "planner/capacity/tuning.hpp"
#include "planner/capacity/what_if.hpp"

namespace pleat {

struct CapacityAnswer {
  std::string model;
  double tokens = 0;
  std::int64_t seq_len = 0;
  std::int64_t global_batch = 0;  // sequences; under the critical-batch rule, of the smallest size
  std::optional<double> critical_batch;  // tokens; absent: the batch is the same for all sizes
  Goal goal;
  Tuning tuning = Tuning::best;
  std::vector<Offer> offers;      // clusters in the order of the question, sizes ascending
  Choice choice;
  std::optional<std::size_t> explained;  // the offer that `swings` are about
  std::vector<Swing> swings;
  std::vector<Miss> misses;       // empty when the goals are met, or when nothing can be run
  std::optional<WhatIf> what_if;  // where the question asks for it
  bool complete = true;           // false: the user interrupted it, and offers are missing
};

// The fields are explained in docs/FORMATS.md, "Capacity".
[[nodiscard]] std::string capacity_json(const CapacityAnswer&,
                                        const std::vector<std::string>& assumed);

// A line for each offer. Texts that a spreadsheet would take for formulas are marked as texts.
[[nodiscard]] std::string capacity_csv(const CapacityAnswer&);

}  // namespace pleat
