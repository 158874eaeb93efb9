// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a fifth more or less of each input does to days and dollars.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/capacity/offers.hpp"
#include "planner/report/step_inputs.hpp"

namespace pleat {

struct Swing {
  std::string input;                   // "price"
  Seconds time_less, time_more;        // with 20% less, 20% more of it
  double dollars_less = 0, dollars_more = 0;
  double effect = 0;                   // larger of the relative ranges of time and dollars
};

// The step time of the offer's plan under a change.
using StepUnder = std::function<Seconds(const StepInput&, double factor)>;

// Largest effect first; inputs that the offer does not depend on come last with effect 0. A value
// that 20% more would push out of its range stops at its limit. Times of offers that cannot be run
// any more are infinite. `inputs`: of the step, beside prices and rates.
[[nodiscard]] std::vector<Swing> sensitivity(const Offer&, Confidence,
                                             const std::vector<StepInput>& inputs,
                                             const StepUnder&);

}  // namespace pleat
