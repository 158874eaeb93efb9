// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the rounds of a contest say about its plans and their predictions.
#include <algorithm>
#include <cmath>

#include "application/tune/contest.hpp"
#include "core/median.hpp"

namespace pleat {

Seconds predicted_step(const Contender& c, Foresight known) {
  return known == Foresight::before ? c.predicted.step : c.recorded_step;
}

Accuracy accuracy_of(const std::vector<Contender>& contenders, Foresight known) {
  Accuracy a;
  std::vector<double> errors;
  for (const Contender& c : contenders) {
    const Seconds predicted = predicted_step(c, known);
    errors.push_back(std::abs(predicted / measured_step(c) - 1));
    for (const Contender& other : contenders) {
      if (predicted_step(other, known) / predicted <= kClearlySlower) continue;
      ++a.pairs;
      if (measured_step(other) > measured_step(c)) ++a.ranked;
    }
  }
  a.median_error = pleat::median(errors);
  return a;
}

Seconds measured_step(const Contender& c) { return Seconds(pleat::median(c.medians)); }

Seconds worked_step(const Contender& c, int cores) {
  return Seconds(pleat::median(c.worked) / std::max(1, std::min(cores, c.plan.world())));
}

double round_spread(const Contender& c) {
  const auto [low, high] = std::minmax_element(c.medians.begin(), c.medians.end());
  return (*high - *low) / pleat::median(c.medians);
}

}  // namespace pleat
