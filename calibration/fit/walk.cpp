// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/walk.hpp"

#include <algorithm>

namespace pleat {
namespace {

constexpr double kFirstStep = 0.6931, kLastStep = 0.002;
constexpr int kMostRounds = 500;

// Every constant alone, and every two together in the same or opposite sense.
std::vector<std::vector<double>> directions(const std::vector<Constant>& constants) {
  std::vector<std::vector<double>> list;
  const auto moves = [&](std::size_t i) { return constants[i].low < constants[i].high; };
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (!moves(i)) continue;
    for (const double a : {1.0, -1.0}) {
      std::vector<double> axis(constants.size(), 0.0);
      axis[i] = a;
      list.push_back(axis);
      for (std::size_t j = i + 1; j < constants.size(); ++j) {
        if (!moves(j)) continue;
        for (const double b : {1.0, -1.0}) {
          std::vector<double> diagonal = axis;
          diagonal[j] = b;
          list.push_back(std::move(diagonal));
        }
      }
    }
  }
  return list;
}

}  // namespace

Fit walk_down(const std::vector<Constant>& constants, const FitError& error_of) {
  const auto all = directions(constants);
  Fit fit;
  for (const Constant& c : constants) fit.constants.push_back(c.start);
  fit.error = error_of(fit.constants);
  double step = kFirstStep;
  std::vector<double> next;
  for (int round = 0; step > kLastStep && round < kMostRounds; ++round) {
    bool improved = false;
    for (const auto& direction : all) {
      next = fit.constants;
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] = std::clamp(next[i] + step * direction[i], constants[i].low, constants[i].high);
      }
      const double error = error_of(next);
      if (error < fit.error) {
        fit = {next, error};
        improved = true;
      }
    }
    if (!improved) step /= 2;
  }
  return fit;
}

}  // namespace pleat
