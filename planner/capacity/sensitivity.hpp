// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How days and dollars change with 20% more or less of each input.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/capacity/offers.hpp"
#include "planner/report/step_inputs.hpp"

namespace pleat {

struct Swing {
  std::string input;                   // "price"
  Seconds time_less, time_more;        // with 20% less and with 20% more of the input
  double dollars_less = 0, dollars_more = 0;
  double effect = 0;  // (largest - smallest) / usual, of time or of dollars, whichever is more
};

// The step time of the offer's plan under a change.
using StepUnder = std::function<Seconds(const StepInput&, double factor)>;

// The inputs with the largest effect first; those without effect come last. `inputs` are those of
// the step time; prices and rates are added to them. A value that 20% more would push out of its
// range stops at its limit. Where the offer can no longer be run, its time is infinite.
[[nodiscard]] std::vector<Swing> sensitivity(const Offer&, Confidence,
                                             const std::vector<StepInput>& inputs,
                                             const StepUnder&);

}  // namespace pleat
