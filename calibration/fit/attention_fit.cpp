// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/attention_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/diagnostics.hpp"
#include "core/median.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

constexpr double kLeastShare = 0.1;  // of a time that is not fixed
constexpr double kMostOfAttentionPeak = 1.2;  // a rate above is of no kernel
// Fixed times that are tried: none, and these shares of the shortest time, each 0.85 of the last.
constexpr double kMostFixed = 0.9, kNextFixed = 0.85;
constexpr int kTrials = 30;

AttentionCall call_of(const AttentionPoint& p) {
  return {.rows = p.size.rows,
          .heads = p.size.heads,
          .value_head = p.size.value_head,
          .seq = p.size.seq,
          .flops = p.flops,
          .bytes = p.bytes,
          .backward = p.size.backward};
}

std::size_t layout_of(const AttentionPoint& p) { return static_cast<std::size_t>(p.size.layout); }

AttentionFit fit_with(const std::vector<AttentionPoint>& points, const GpuSpec& gpu,
                      const EfficiencyCurve& curve) {
  std::array<std::map<double, std::vector<double>>, 2> rates;  // by layout and sequence length
  for (const AttentionPoint& p : points) {
    const Seconds busy = std::max(p.time - curve.fixed, p.time * kLeastShare);
    rates[layout_of(p)][p.size.seq].push_back((p.flops / busy).base() /
                                              attention_share(call_of(p), gpu.sms));
  }
  AttentionFit fit{.by_layout = {}, .curve = curve};
  for (std::size_t l = 0; l < rates.size(); ++l) {
    if (!rates[l].empty()) fit.by_layout[l].source = SourceClass::fitted;
    for (const auto& [seq, some] : rates[l]) {
      fit.by_layout[l].log_seq.push_back(std::log(seq));
      fit.by_layout[l].rate.push_back(
          std::min(median(some), kMostOfAttentionPeak * gpu.peak(DType::bf16).base()));
    }
  }
  return fit;
}

// Mean |ln(predicted / measured)| of each point from all others.
double left_out_error(const std::vector<AttentionPoint>& points, const GpuSpec& gpu,
                      const EfficiencyCurve& curve) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<AttentionPoint> others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const AttentionFit fit = fit_with(others, gpu, curve);
    if (fit.by_layout[layout_of(points[i])].empty()) continue;
    sum += std::abs(std::log(predict(fit, points[i], gpu) / points[i].time));
  }
  return sum;
}

}  // namespace

AttentionFit fit_attention(const std::vector<AttentionPoint>& points, const GpuSpec& gpu,
                           const EfficiencyCurve& curve) {
  PLEAT_ASSERT(!points.empty());
  Seconds shortest = points.front().time;
  for (const AttentionPoint& p : points) shortest = std::min(shortest, p.time);
  EfficiencyCurve best = curve;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kTrials; ++i) {
    EfficiencyCurve trial = curve;
    trial.fixed = i == 0 ? Seconds{} : shortest * (kMostFixed * std::pow(kNextFixed, i - 1));
    const double error = left_out_error(points, gpu, trial);
    if (error >= least) continue;
    least = error;
    best = trial;
  }
  return fit_with(points, gpu, best);
}

Seconds predict(const AttentionFit& fit, const AttentionPoint& p, const GpuSpec& gpu) {
  return attention_time(fit.by_layout[layout_of(p)], fit.curve, gpu, call_of(p), 1.0);
}

}  // namespace pleat
