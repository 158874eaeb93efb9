// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/learn/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/units_text.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {
namespace {

constexpr double kFastestExchange = 10;  // of the fields exchange_rate and exchange_rate_nccl
constexpr double kMostTimes = 4;         // as slow, and where a field has no limit, as fast

// Calls rate(name, value, most) or time(name, seconds) for every field of a constant.
template <class Rate, class Time>
void visit_run(RunConstants& r, LearnedKind kind, const Rate& rate, const Time& time) {
  const auto by_graph = [&](const std::string& name, ByGraph& g) {
    time(name + ".none", g.none);
    time(name + ".router", g.router);
    time(name + ".partial", g.partial);
    time(name + ".full_iteration", g.full_iteration);
  };
  switch (kind) {
    case LearnedKind::compute:
      rate("sustained_clock.gemm_bf16", r.sustained_clock.gemm_bf16, 1.0);
      rate("sustained_clock.gemm_fp8", r.sustained_clock.gemm_fp8, 1.0);
      rate("sustained_clock.gemm_fp4", r.sustained_clock.gemm_fp4, 1.0);
      rate("sustained_clock.attention", r.sustained_clock.attention, 1.0);
      break;
    case LearnedKind::memory:
      break;
    case LearnedKind::exchange:
      rate("exchange_rate", r.exchange_rate, kFastestExchange);
      rate("exchange_rate_nccl", r.exchange_rate_nccl, kFastestExchange);
      break;
    case LearnedKind::host:
      time("host_per_op", r.host_per_op);
      time("host_per_launch", r.host_per_launch);
      by_graph("host_per_moe_layer", r.host_per_moe_layer);
      by_graph("host_per_dense_layer", r.host_per_dense_layer);
      time("host_busy_per_layer", r.host_busy_per_layer);
      time("host_per_sharded_weight", r.host_per_sharded_weight);
      time("host_per_head", r.host_per_head);
      time("step_overhead", r.step_overhead);
      break;
  }
}

// The same of what no era overrides.
template <class Rate, class Time>
void visit_platform(Profile& p, LearnedKind kind, const Rate& rate, const Time& time) {
  if (kind == LearnedKind::memory) {
    for (std::size_t i = 0; i < kKernelClasses; ++i) {
      if (counts_flops(static_cast<KernelClass>(i))) continue;
      rate(i == static_cast<std::size_t>(KernelClass::memory_bound)
               ? std::string("kernels.memory_bound.memory_efficiency")
               : fmt::format("kernels[{}].memory_efficiency", i),
           p.kernels[i].memory_efficiency, 1.0);
    }
  }
  if (kind == LearnedKind::exchange) {
    for (std::size_t tier = 0; tier < p.collectives.size(); ++tier) {
      for (std::size_t c = 0; c < kCollectives; ++c) {
        CollectiveCurve& curve = p.collectives[tier][c];
        const std::string name = fmt::format("collectives[{}].{}", tier, kCollectiveNames[c]);
        rate(name + ".efficiency", curve.efficiency, 1.0);
        time(name + ".latency", curve.latency);
      }
    }
  }
}

template <class Rate, class Time>
void visit(Profile& p, LearnedKind kind, const Rate& rate, const Time& time) {
  visit_run(p, kind, rate, time);
  visit_platform(p, kind, rate, time);
}

// Without laws of matrix products their curves are round numbers: rates beyond the clock's limit
// are theirs. With laws the clock's limit is what a burst has reached.
bool has_free_curves(const Profile& p) { return p.gemm.tiles.empty(); }

// Of bf16, which stands for all; the fastest of the eras.
double fastest_clock(const Profile& p) {
  double most = p.sustained_clock.gemm_bf16;
  for (const Era& era : p.eras) most = std::max(most, era.run.sustained_clock.gemm_bf16);
  return most;
}

double most_efficient(const Profile& p) {
  double most = 0;
  for (std::size_t i = 0; counts_flops(static_cast<KernelClass>(i)); ++i) {
    most = std::max(most, p.kernels[i].max_efficiency);
  }
  return most;
}

// What the clock cannot follow once it is 1.
void move_curves(Profile& p, double factor, double clock) {
  const double rest = std::min(1.0, factor / clock);
  if (!has_free_curves(p) || rest >= 1) return;
  for (std::size_t i = 0; counts_flops(static_cast<KernelClass>(i)); ++i) {
    p.kernels[i].max_efficiency = std::min(1.0, p.kernels[i].max_efficiency / rest);
  }
}

}  // namespace

Profile moved_profile(const Profile& profile, const LearnedVector& logs) {
  Profile p = profile;
  for (std::size_t k = 0; k < kLearnedKinds; ++k) {
    if (logs[k] == 0) continue;
    const double factor = std::exp(logs[k]);
    const auto rate = [&](const std::string&, double& value, double most) {
      value = std::min(most, value / factor);
    };
    const auto time = [&](const std::string&, Seconds& value) { value = value * factor; };
    const auto kind = static_cast<LearnedKind>(k);
    if (kind == LearnedKind::compute) move_curves(p, factor, fastest_clock(profile));
    visit(p, kind, rate, time);
    for (Era& era : p.eras) visit_run(era.run, kind, rate, time);
  }
  return p;
}

LearnedLimits limits_of(const Profile& profile) {
  LearnedLimits limits;
  limits.low.fill(-std::log(kMostTimes));
  limits.high.fill(std::log(kMostTimes));
  const double curves = has_free_curves(profile) ? most_efficient(profile) : 1.0;
  limits.low[static_cast<std::size_t>(LearnedKind::compute)] =
      std::max(-std::log(kMostTimes), std::log(fastest_clock(profile) * curves));
  double slowest = 1;
  Profile copy = profile;
  visit(
      copy, LearnedKind::memory,
      [&](const std::string&, double& value, double most) {
        slowest = std::min(slowest, value / most);
      },
      [](const std::string&, Seconds&) {});
  limits.low[static_cast<std::size_t>(LearnedKind::memory)] =
      std::max(-std::log(kMostTimes), std::log(slowest));
  return limits;
}

double run_noise(const Profile& profile) {
  constexpr double kLeast = 0.07, kShare = 0.36;
  return std::max(kLeast, kShare * profile.relative_band / kBandDeviations);
}

FitPrior prior_of(const Profile& profile) {
  // Half of the band is the constants': with more, a group of published runs gets worse by more
  // than a point where two of its runs are given (docs/MODEL.md section 14).
  constexpr double kShare = 0.5;
  const LearnedLimits limits = limits_of(profile);
  FitPrior prior{.deviation = {}, .low = limits.low, .high = limits.high};
  prior.deviation.fill(kShare * profile.relative_band / kBandDeviations);
  return prior;
}

std::vector<LearnedField> moved_fields(LearnedKind kind, const Profile& before,
                                       const Profile& after) {
  std::vector<LearnedField> old, all;
  const auto list = [&](Profile p, std::vector<LearnedField>& into) {
    visit(
        p, kind,
        [&](const std::string& name, double& value, double) {
          into.push_back({name, fmt::format("{:.4g}", value), ""});
        },
        [&](const std::string& name, Seconds& value) {
          into.push_back({name, to_text(value), ""});
        });
    if (kind != LearnedKind::compute || !has_free_curves(p)) return;
    into.push_back(
        {"kernels.gemm.max_efficiency", fmt::format("{:.4g}", p.kernels[0].max_efficiency), ""});
  };
  list(before, old);
  list(after, all);
  std::vector<LearnedField> moved;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i].before == all[i].before) continue;
    moved.push_back({old[i].name, old[i].before, all[i].before});
  }
  return moved;
}

}  // namespace pleat
