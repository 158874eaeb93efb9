// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"

namespace pleat {

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

ErrorSummary summarise(const std::vector<double>& signed_errors) {
  std::vector<double> sizes;
  for (const double e : signed_errors) sizes.push_back(std::abs(e));
  return {.count = sizes.size(),
          .median = quantile(sizes, 0.5),
          .p90 = quantile(sizes, 0.9),
          .mean = mean(sizes),
          .worst = quantile(sizes, 1.0),
          .bias = quantile(signed_errors, 0.5)};
}

double regret(const std::vector<TimedLayout>& choices) {
  PLEAT_ASSERT(!choices.empty());
  const auto taken = std::min_element(
      choices.begin(), choices.end(),
      [](const TimedLayout& a, const TimedLayout& b) { return a.predicted < b.predicted; });
  const auto best = std::min_element(
      choices.begin(), choices.end(),
      [](const TimedLayout& a, const TimedLayout& b) { return a.measured < b.measured; });
  return taken->measured / best->measured - 1.0;
}

PairCount concordance(const std::vector<TimedLayout>& choices) {
  PairCount count;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = i + 1; j < choices.size(); ++j) {
      const double measured = choices[i].measured - choices[j].measured;
      const double predicted = choices[i].predicted - choices[j].predicted;
      if (measured == 0) continue;
      ++count.pairs;
      if (predicted == 0) count.same_order += 0.5;
      else if ((measured < 0) == (predicted < 0)) count.same_order += 1;
    }
  }
  return count;
}

}  // namespace pleat
