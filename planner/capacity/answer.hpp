// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Everything that is known after a capacity question: what text, JSON, CSV and reports are made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/misses.hpp"
#include "planner/capacity/offers.hpp"
#include "planner/capacity/sensitivity.hpp"

namespace pleat {

struct CapacityAnswer {
  std::string model;
  double tokens = 0;
  std::int64_t seq_len = 0;
  std::int64_t global_batch = 0;  // sequences, of the smallest size under the critical-batch rule
  std::optional<double> critical_batch;  // tokens; nothing: the batch is constant
  Goal goal;
  std::vector<Offer> offers;      // clusters as asked for, sizes ascending
  Choice choice;
  std::optional<std::size_t> explained;  // the offer whose sensitivity this is
  std::vector<Swing> swings;
  std::vector<Miss> misses;       // empty when the goals are met or nothing can be run
  bool complete = true;           // false: interrupted, offers are missing
};

// docs/FORMATS.md, "Capacity".
[[nodiscard]] std::string capacity_json(const CapacityAnswer&, const std::vector<std::string>& assumed);

// One line an offer; texts that a spreadsheet would take for formulas are quoted.
[[nodiscard]] std::string capacity_csv(const CapacityAnswer&);

}  // namespace pleat
