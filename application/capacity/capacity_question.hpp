// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is to be booked: for how many tokens, by when, for how much, on which clusters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "core/plan/numerics_rows.hpp"
#include "planner/capacity/offers.hpp"
#include "planner/capacity/sizes.hpp"
#include "planner/capacity/tuning.hpp"

namespace pleat {

// One cluster of the question.
struct CapacitySite {
  std::string words;  // as it was asked for
  std::string routing;  // of other commands: " --routing aux-loss"; empty: experts alike
  Target target;      // its gpus and global batch are set for each size
  // SearchConfig's.
  std::vector<Numerics> numerics{1};
  std::vector<NumericsValue> free_numerics;
  std::vector<std::size_t> told_numerics;
  bool usual_loads = false;  // nobody said how experts are loaded: P90 has worse loads, too
  Rates rates{RateSet{}};
  std::vector<int> sizes;
};

struct CapacityQuestion {
  double tokens = 0;
  Goal goal;
  std::optional<double> critical_batch;  // tokens
  Tuning tuning = Tuning::best;
  std::vector<CapacitySite> sites;
  int largest_asked = 0;                 // GPUs; 0: sizes were listed one by one
  bool proven = false;   // every search goes on until its plan is proven to be the best
  bool what_if = false;  // price offers under other tokens and loads of experts, too
  std::vector<std::string> assumed;
};

}  // namespace pleat
