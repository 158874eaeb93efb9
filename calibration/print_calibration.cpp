// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A calibration as text for people: its progress, what it fitted, how well the fit holds, and what
// symmetric windows save.
#include <fmt/format.h>

#include <map>

#include "calibration/calibrate.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {

std::string progress_line(const CalibrationProgress& p) {
  constexpr int kWidth = 20;
  const int filled = p.points == 0 ? 0 : kWidth * p.done / p.points;
  const int percent = p.points == 0 ? 0 : 100 * p.done / p.points;
  std::string line =
      fmt::format("[{:#<{}}{:.<{}}] {:3d}%  {}", "", filled, "", kWidth - filled, percent, p.name);
  if (p.seconds_left > 0) {
    const auto seconds = static_cast<int>(p.seconds_left + 0.5);
    line += fmt::format("  {}:{:02d} left", seconds / 60, seconds % 60);
  }
  return line;
}

namespace {

std::string print_laws(const Profile& profile) {
  static constexpr const char* kNames[kGemmMaths] = {"bf16", "fp8", "fp8_block", "mxfp8", "nvfp4"};
  std::string text;
  for (std::size_t i = 0; i < kGemmMaths; ++i) {
    const GemmLaw& law = profile.gemm.by_math[i];
    if (law.rate <= FlopsPerSecond(0)) continue;
    text += fmt::format("{}{:<22}{:>9.0f} TFLOP/s{:>9.2f} us{:>9.2f} TB/s{:>12.2f}\n",
                        text.empty() ? "\nlaw of products                   rate       fixed     "
                                       "bandwidth        wave\n"
                                     : "",
                        kNames[i], law.rate.base() * 1e-12, law.fixed.base() * 1e6,
                        law.bandwidth.base() * 1e-12, law.wave);
  }
  const GroupedLaw& g = profile.gemm.grouped;
  if (!text.empty()) {
    text += fmt::format(
        "grouped: {:.2f} of the rate ({:.2f} narrow, weight gradients {:.2f} of it)\n", g.rate,
        g.narrow_rate, g.wgrad_rate);
  }
  return text;
}

// The clock under load: for a point such as "attention 1x8192", the speed of the last quarter of
// its runs over that of the first ones.
std::string print_sustained(const std::vector<Sample>& samples) {
  std::string text;
  for (const Sample& s : samples) {
    const auto* o = std::get_if<OtherSample>(&s.point);
    if (o == nullptr || (o->what != kSustained && o->what != kSustainedAttention)) continue;
    text += fmt::format("under load: {} at {:.3f} of its first runs' rate{}\n", s.name,
                        sustained_share(s.raw),
                        o->what == kSustained ? "" : " (no constant of the profile)");
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string print_residuals(const CalibrationResult& result) {
  std::string text = fmt::format("{:<30}{:>8}{:>10}{:>10}{:>14}{:>14}\n", "family", "points",
                                 "median", "held out", "median", "worst");
  for (const Residual& r : result.residuals) {
    const auto share = [](const std::optional<double>& error) {
      return error ? fmt::format("{:.1f}%", 100 * *error) : std::string("not measured");
    };
    text += fmt::format("{:<30}{:>8}{:>9.1f}%{:>10}{:>14}{:>14}\n",
                        r.kind.empty() ? r.family : "  " + r.kind, r.in_sample,
                        100 * r.in_sample_median, r.held_out, share(r.held_out_median),
                        share(r.held_out_worst));
  }
  text += fmt::format("\n{:<22}{:>12}{:>14}{:>12}{:>12}{:>12}\n", "kernel", "of peak", "half work",
                      "of memory", "fixed", "contention");
  for (std::size_t k = 0; k < kKernelClasses; ++k) {
    const EfficiencyCurve& c = result.profile.kernels[k];
    text += fmt::format("{:<22}{:>11.1f}%{:>10.3f} MF{:>11.1f}%{:>9.2f} us{:>12.3f}\n",
                        name_of(static_cast<KernelClass>(k)), 100 * c.max_efficiency,
                        c.half_work.base() / 1e6, 100 * c.memory_efficiency, c.fixed.base() * 1e6,
                        c.contention);
  }
  text += print_laws(result.profile);
  text += print_sustained(result.samples);
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

// What symmetric windows spare: collectives with them beside the same ones without.

std::string print_windows(const CalibrationResult& result) {
  std::map<std::string, Seconds> without;
  for (const Sample& s : result.samples) without[s.name] = s.time;
  std::string text;
  for (const Sample& s : result.samples) {
    const auto* c = std::get_if<CollectiveSample>(&s.point);
    if (c == nullptr || !c->windows) continue;
    const std::string name = s.name.substr(0, s.name.size() - kInWindows.size());
    const auto plain = without.find(name);
    if (plain == without.end()) continue;
    if (text.empty()) {
      text = fmt::format("\n{:<48}{:>14}{:>14}{:>8}\n", "collective", "without", "in windows",
                         "of it");
    }
    text += fmt::format("{:<48}{:>11.2f} us{:>11.2f} us{:>8.2f}\n", name,
                        plain->second.base() * 1e6, s.time.base() * 1e6, s.time / plain->second);
  }
  return text;
}

}  // namespace pleat
