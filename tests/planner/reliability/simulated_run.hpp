// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A run walked from failure to failure with a seeded generator: the oracle for the renewal
// formulas.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "planner/reliability/finish_time.hpp"

namespace pleat::test {

struct SimulatedRun {
  double total = 0, work = 0, stall = 0, lost = 0, restart = 0;  // s
  int failures = 0;
};

// `saves` cycles until the last one's stall ends; saves become durable `upload` after their stall.
inline SimulatedRun simulate_run(const SaveCycle& c, int saves, std::mt19937_64& random) {
  std::exponential_distribution<double> until_failure(1 / c.mtbf.base());
  const double cycle = (c.work + c.stall).base();
  SimulatedRun run;
  int durable = 0;
  while (true) {
    const double length = until_failure(random);
    const double needed = (saves - durable) * cycle;
    if (length >= needed) {
      run.total += needed;
      break;
    }
    ++run.failures;
    const int kept = std::max(0, static_cast<int>((length - c.upload.base()) / cycle));
    durable += kept;
    run.lost += length - kept * cycle;
    run.total += length;
    for (double next = 0; (next = until_failure(random)) < c.restart.base(); ++run.failures) {
      run.restart += next;
      run.total += next;
    }
    run.restart += c.restart.base();
    run.total += c.restart.base();
  }
  run.work = saves * c.work.base();
  run.stall = saves * c.stall.base();
  return run;
}

struct Sample {
  double mean = 0, variance = 0;
  std::vector<double> sorted;
  [[nodiscard]] double quantile(double p) const {
    return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size()))];
  }
};

inline Sample sample_of(std::vector<double> values) {
  Sample s;
  for (const double v : values) s.mean += v / static_cast<double>(values.size());
  for (const double v : values) {
    s.variance += (v - s.mean) * (v - s.mean) / static_cast<double>(values.size() - 1);
  }
  std::sort(values.begin(), values.end());
  s.sorted = std::move(values);
  return s;
}

}  // namespace pleat::test
