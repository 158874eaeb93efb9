// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/kernel_fit.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/fit/walk.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr Seconds kShortestFixed{1e-10};  // a smaller one is the walk's way of saying none

// Constants: logarithms of max_efficiency, half_work, memory_efficiency, fixed.
EfficiencyCurve curve_of(const std::vector<double>& c) {
  return {.max_efficiency = std::exp(c[0]),
          .half_work = Flops(std::exp(c[1])),
          .memory_efficiency = std::exp(c[2]),
          .fixed = Seconds(std::exp(c[3])),
          .source = SourceClass::fitted};
}

double mean_log_error(const std::vector<double>& c, const std::vector<WorkPoint>& points,
                      const GpuSpec& gpu) {
  const EfficiencyCurve curve = curve_of(c);
  double sum = 0;
  for (const WorkPoint& p : points) sum += std::abs(std::log(predict(curve, p, gpu) / p.time));
  return sum / static_cast<double>(points.size());
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
  PLEAT_ASSERT(!points.empty() && gpu.peak(points.front().math).base() > 0 &&
               gpu.memory_bandwidth.base() > 0);
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
        Constant arithmetic_share{std::log(efficiency)}, memory_share{std::log(memory)};
        arithmetic_share.high = memory_share.high = 0;  // an efficiency is at most 1
        const Fit fit = walk_down({arithmetic_share,
                                   {std::log(std::max(1.0, least.base()))},
                                   memory_share,
                                   {std::log(shortest.base() * fixed_share)}},
                                  [&](const auto& c) { return mean_log_error(c, points, gpu); });
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
