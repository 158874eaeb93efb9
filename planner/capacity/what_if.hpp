// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Offers under other numbers of tokens and other loads of experts, for sliders of a page.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "planner/capacity/offers.hpp"

namespace pleat {

// A step of an offer's plan while the busiest rank has `factor` times the tokens that it was taken
// to have.
struct StepAtLoad {
  Seconds step;
  bool fits = true;
};
using StepAtImbalance = std::function<StepAtLoad(double factor)>;

struct WhatIf {
  std::vector<double> tokens;     // factors of the tokens asked for; 1 among them
  std::vector<double> imbalance;  // factors of the load asked for, from 1; 1 alone: no experts
  struct Of {
    std::size_t offer = 0;  // its place in the answer
    std::vector<bool> fits;  // by imbalance
    // By imbalance, then tokens; absent: it cannot be run.
    std::vector<std::vector<std::optional<FinishTime>>> finish;
  };
  std::vector<Of> offers;
};

// Of one offer that can be run.
[[nodiscard]] WhatIf::Of what_if(const WhatIf&, std::size_t place, const Offer&,
                                 const StepAtImbalance&);

}  // namespace pleat
