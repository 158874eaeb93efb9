// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is said about many errors at once.
#pragma once

#include <cstddef>
#include <vector>

namespace pleat {

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

}  // namespace pleat
