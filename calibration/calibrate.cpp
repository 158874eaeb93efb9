// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/microbench/points.hpp"

namespace pleat {
namespace {

constexpr std::size_t kSharedEvery = 3;  // points measured again with the cores shared
constexpr int kRepeats = 200;

void report(const CalibrateConfig& config, const std::string& family) {
  if (config.on_progress) config.on_progress(family);
}

void append(std::vector<Sample>& samples, std::vector<Sample> more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

// Host time of one op that does nothing: the call through the kernel set on one element.
Seconds time_empty_op(const TimingLimits& limits) {
  constexpr int kCalls = 100;
  const KernelPoint point{
      .name = "zero 1x1, 100 calls",
      .kernel = KernelClass::memory_bound,
      .flops = 0,
      .bytes = 4.0 * kCalls,
      .prepare = [](KernelSet& kernels, unsigned seed) -> std::function<void()> {
        const Buffer x(1, 1, seed);
        return [=, &kernels] {
          for (int i = 0; i < kCalls; ++i) kernels.zero(x.view());
        };
      }};
  return time_alone(point, limits).time / kCalls;
}

}  // namespace

const char* name_of(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::gemm:
      return "gemm";
    case KernelClass::grouped_gemm:
      return "grouped_gemm";
    case KernelClass::attention_fwd:
      return "attention_fwd";
    case KernelClass::attention_bwd:
      return "attention_bwd";
    case KernelClass::memory_bound:
      return "memory_bound";
    case KernelClass::norm:
      return "norm";
    case KernelClass::activation:
      return "activation";
    case KernelClass::loss:
      return "loss";
    case KernelClass::router:
      return "router";
    case KernelClass::permute:
      return "permute";
    case KernelClass::quantize:
      return "quantize";
    case KernelClass::optimizer:
      return "optimizer";
  }
  return "?";
}

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::all_gather:
      return "all_gather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::send_recv:
      return "send_recv";
  }
  return "?";
}

CalibrationResult calibrate(const ClusterSpec& cluster, const CalibrateConfig& config) {
  const double start = seconds_now();
  const TimingLimits limits{.seconds = config.point_seconds, .repeats = kRepeats};
  CalibrationResult result;
  for (const auto& points :
       {gemm_points(), grouped_gemm_points(), attention_points(), memory_bound_points(),
        routing_points()}) {
    report(config, name_of(points.front().kernel));
    for (const KernelPoint& p : points) result.samples.push_back(time_alone(p, limits));
    if (config.ranks < 2) continue;
    for (std::size_t i = 0; i < points.size(); i += kSharedEvery) {
      result.samples.push_back(time_shared(points[i], config.ranks, limits));
    }
  }
  for (int ranks = 2; ranks <= config.ranks; ranks *= 2) {
    report(config, fmt::format("collectives of {} ranks", ranks));
    append(result.samples, time_collectives(ranks, limits));
  }

  FittedProfile fitted = fit(result.samples, cluster);
  Profile& p = fitted.profile;
  p.name = cluster.name + "-pleat";
  p.cluster = cluster.name;
  p.runtime = Runtime::pleat;
  p.created = config.created;
  p.host_per_op = time_empty_op(limits);
  // Ranks start and end a step together.
  if (config.ranks > 1) p.step_overhead = time_barrier(config.ranks, limits) * 2;
  p.provenance = fmt::format("pleat calibrate, {} samples, alone and on {} threads",
                             result.samples.size(), config.ranks);
  result.profile = std::move(p);
  result.residuals = std::move(fitted.residuals);
  result.seconds = seconds_now() - start;
  return result;
}

std::string print_residuals(const CalibrationResult& result) {
  std::string text = fmt::format("{:<22}{:>8}{:>10}{:>10}{:>10}{:>10}\n", "family", "points",
                                 "median", "held out", "median", "worst");
  for (const Residual& r : result.residuals) {
    text += fmt::format("{:<22}{:>8}{:>9.1f}%{:>10}{:>9.1f}%{:>9.1f}%\n", r.family, r.in_sample,
                        100 * r.in_sample_median, r.held_out, 100 * r.held_out_median,
                        100 * r.held_out_worst);
  }
  text += fmt::format("\n{:<22}{:>12}{:>14}{:>12}{:>12}\n", "kernel", "of peak", "half work",
                      "of memory", "fixed");
  for (std::size_t k = 0; k < kKernelClasses; ++k) {
    const EfficiencyCurve& c = result.profile.kernels[k];
    text += fmt::format("{:<22}{:>11.1f}%{:>10.3f} MF{:>11.1f}%{:>9.2f} us\n",
                        name_of(static_cast<KernelClass>(k)), 100 * c.max_efficiency,
                        c.half_work.base() / 1e6, 100 * c.memory_efficiency, c.fixed.base() * 1e6);
  }
  if (!result.profile.collectives.empty()) {
    text +=
        fmt::format("\n{:<22}{:>12}{:>14}{:>12}\n", "collective", "of link", "latency", "per rank");
    for (std::size_t c = 0; c < kCollectives; ++c) {
      const CollectiveCurve& curve = result.profile.collectives.front()[c];
      text += fmt::format("{:<22}{:>11.1f}%{:>11.2f} us{:>9.2f} us\n",
                          name_of(static_cast<Collective>(c)), 100 * curve.efficiency,
                          curve.latency.base() * 1e6, curve.latency_per_rank.base() * 1e6);
    }
  }
  text += fmt::format(
      "\nsharing penalty {:.3f}, host {:.3f} us per op, step overhead {:.1f} us, band "
      "+-{:.0f}%; {} samples in {:.1f} s\n",
      result.profile.sharing_penalty, result.profile.host_per_op.base() * 1e6,
      result.profile.step_overhead.base() * 1e6, 100 * result.profile.relative_band,
      result.samples.size(), result.seconds);
  return text;
}

}  // namespace pleat
