// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/kernel_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr Seconds kShortestFixed{1e-10};  // a smaller one is the walk's way of saying none

// Logarithms of max_efficiency, half_work, memory_efficiency, fixed.
using Constants = std::array<double, 4>;

EfficiencyCurve curve_of(const Constants& c) {
  return {.max_efficiency = std::exp(c[0]),
          .half_work = Flops(std::exp(c[1])),
          .memory_efficiency = std::exp(c[2]),
          .fixed = Seconds(std::exp(c[3])),
          .source = SourceClass::fitted};
}

double mean_log_error(const Constants& c, const std::vector<WorkPoint>& points,
                      const GpuSpec& gpu) {
  const EfficiencyCurve curve = curve_of(c);
  double sum = 0;
  for (const WorkPoint& p : points) sum += std::abs(std::log(predict(curve, p, gpu) / p.time));
  return sum / static_cast<double>(points.size());
}

struct Fit {
  Constants constants{};
  double error = std::numeric_limits<double>::infinity();
};

// Steps of the walk: every constant alone, and every two together in the same or opposite sense.
std::vector<Constants> directions() {
  std::vector<Constants> list;
  for (std::size_t i = 0; i < 4; ++i) {
    for (const double a : {1.0, -1.0}) {
      Constants axis{};
      axis[i] = a;
      list.push_back(axis);
      for (std::size_t j = i + 1; j < 4; ++j) {
        for (const double b : {1.0, -1.0}) {
          Constants diagonal = axis;
          diagonal[j] = b;
          list.push_back(diagonal);
        }
      }
    }
  }
  return list;
}

Fit descend(const Constants& start, const std::vector<WorkPoint>& points, const GpuSpec& gpu) {
  constexpr double kFirstStep = 0.6931, kLastStep = 0.002;
  constexpr int kMostRounds = 500;
  const std::vector<Constants> all = directions();
  Fit fit{start, mean_log_error(start, points, gpu)};
  double step = kFirstStep;
  for (int round = 0; step > kLastStep && round < kMostRounds; ++round) {
    bool improved = false;
    for (const Constants& direction : all) {
      Constants next = fit.constants;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] += step * direction[i];
      next[0] = std::min(next[0], 0.0);  // an efficiency is at most 1
      next[2] = std::min(next[2], 0.0);
      const double error = mean_log_error(next, points, gpu);
      if (error < fit.error) {
        fit = {next, error};
        improved = true;
      }
    }
    if (!improved) step /= 2;
  }
  return fit;
}

}  // namespace

Seconds predict(const EfficiencyCurve& curve, const WorkPoint& p, const GpuSpec& gpu) {
  Seconds arithmetic;
  if (p.flops > Flops{}) {
    arithmetic = (p.flops + curve.half_work) / (gpu.peak(p.math) * curve.max_efficiency);
  }
  return curve.fixed +
         std::max(arithmetic, p.bytes / (gpu.memory_bandwidth * curve.memory_efficiency));
}

EfficiencyCurve fit_kernel(const std::vector<WorkPoint>& points, const GpuSpec& gpu) {
  PLEAT_ASSERT(!points.empty() && gpu.peak(points.front().math).base() > 0 && gpu.memory_bandwidth.base() > 0);
  Seconds shortest = points.front().time;
  Flops least = points.front().flops;
  bool arithmetic = false;
  for (const WorkPoint& p : points) {
    PLEAT_ASSERT(p.time > Seconds{});
    shortest = std::min(shortest, p.time);
    least = std::min(least, p.flops);
    arithmetic |= p.flops > Flops{};
  }
  Fit best;
  for (const double efficiency : {0.1, 0.5}) {
    for (const double memory : {0.05, 0.3, 1.0}) {
      for (const double fixed_share : {0.01, 0.5}) {
        const Constants start = {std::log(efficiency), std::log(std::max(1.0, least.base())),
                                 std::log(memory), std::log(shortest.base() * fixed_share)};
        const Fit fit = descend(start, points, gpu);
        if (fit.error < best.error) best = fit;
      }
    }
  }
  EfficiencyCurve curve = curve_of(best.constants);
  if (curve.fixed < kShortestFixed) curve.fixed = Seconds{};
  if (!arithmetic) {
    curve.max_efficiency = 1;
    curve.half_work = Flops{};
  }
  return curve;
}

}  // namespace pleat
