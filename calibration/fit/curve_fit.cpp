// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/curve_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

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

namespace {

using Row = std::array<double, 3>;  // of latency, latency_per_rank, seconds per byte

Row row_of(const WirePoint& p) { return {1.0, static_cast<double>(p.group - 1), p.wire.base()}; }

// Solves the normal equations restricted to the constants in `used` by Gaussian elimination with
// pivoting, columns scaled to length 1; empty if they are singular.
std::optional<Row> solve(const std::vector<WirePoint>& points,
                         const std::vector<std::size_t>& used) {
  const std::size_t n = used.size();
  Row length{};
  for (const WirePoint& p : points) {
    for (std::size_t i = 0; i < n; ++i) {
      length[i] += std::pow(row_of(p)[used[i]] / p.time.base(), 2);
    }
  }
  std::array<std::array<double, 4>, 3> a{};
  for (const WirePoint& p : points) {
    const Row r = row_of(p);
    for (std::size_t i = 0; i < n; ++i) {
      if (length[i] <= 0) return std::nullopt;
      const double x = r[used[i]] / p.time.base() / std::sqrt(length[i]);
      for (std::size_t j = 0; j < n; ++j) {
        a[i][j] += x * r[used[j]] / p.time.base() / std::sqrt(length[j]);
      }
      a[i][3] += x;  // the right side is t / t
    }
  }
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t i = c + 1; i < n; ++i) {
      if (std::abs(a[i][c]) > std::abs(a[pivot][c])) pivot = i;
    }
    if (std::abs(a[pivot][c]) < 1e-9) return std::nullopt;
    std::swap(a[c], a[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == c) continue;
      const double f = a[i][c] / a[c][c];
      for (std::size_t j = 0; j < 4; ++j) a[i][j] -= f * a[c][j];
    }
  }
  Row result{};
  for (std::size_t i = 0; i < n; ++i) result[used[i]] = a[i][3] / a[i][i] / std::sqrt(length[i]);
  return result;
}

double squared_error(const Row& constants, const std::vector<WirePoint>& points) {
  double sum = 0;
  for (const WirePoint& p : points) {
    const Row r = row_of(p);
    const double t = constants[0] * r[0] + constants[1] * r[1] + constants[2] * r[2];
    sum += std::pow(t / p.time.base() - 1, 2);
  }
  return sum;
}

}  // namespace

CollectiveCurve fit_collective(const std::vector<WirePoint>& points, BytesPerSecond bandwidth) {
  PLEAT_ASSERT(!points.empty() && bandwidth.base() > 0);
  // Wire time cannot beat the link: the smallest seconds per byte the curve can express.
  const double least = 1 / bandwidth.base();
  Row best{};
  double best_error = std::numeric_limits<double>::infinity();
  const std::vector<std::size_t> choices[] = {{0, 1, 2}, {0, 2}, {1, 2}, {2}, {0, 1}, {0}, {1}};
  for (const auto& used : choices) {
    std::optional<Row> row = solve(points, used);
    if (!row || *std::min_element(row->begin(), row->end()) < 0) continue;
    (*row)[2] = std::max((*row)[2], least);
    const double error = squared_error(*row, points);
    if (error < best_error * (1 - 1e-9)) {
      best = *row;
      best_error = error;
    }
  }
  PLEAT_ASSERT(best[2] > 0);
  return {.latency = Seconds(best[0]),
          .latency_per_rank = Seconds(best[1]),
          .efficiency = least / best[2],
          .source = SourceClass::fitted};
}

Seconds predict(const CollectiveCurve& c, const WirePoint& p, BytesPerSecond bandwidth) {
  return c.latency + c.latency_per_rank * static_cast<double>(p.group - 1) +
         p.wire / (bandwidth * c.efficiency);
}

std::size_t tier_of(const CollectiveSample& s, const ClusterSpec& cluster) {
  const int reach = (s.group - 1) * s.stride + 1;
  std::size_t tier = 0;
  while (tier + 1 < cluster.tiers.size() && cluster.tiers[tier].size > 0 &&
         cluster.tiers[tier].size < reach) {
    ++tier;
  }
  return tier;
}

std::string family_of(Collective kind, std::size_t tier, const ClusterSpec& cluster) {
  return tier == 0 ? name_of(kind)
                   : fmt::format("{} over {}", name_of(kind), cluster.tiers[tier].name);
}

}  // namespace pleat
