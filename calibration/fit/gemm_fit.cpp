// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/gemm_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calibration/fit/walk.hpp"
#include "core/diagnostics.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

constexpr double kRound = 0.01;  // smaller errors count by their square
// A law's rate is of full tiles alone and may be above what the sheet says of sustained clocks; its
// bandwidth has the share of the cache in it.
constexpr double kMostOfPeak = 1.2, kMostOfBandwidth = 4.0;

// Where the constants of a law lie in the walk: logarithms, of `wave` the logit.
enum Place : std::size_t { kRate, kDepth, kFixed, kBandwidth, kExponent, kWave };

GemmLaw law_of(const std::vector<double>& z) {
  return {.rate = FlopsPerSecond(std::exp(z[kRate])),
          .depth = std::exp(z[kDepth]),
          .fixed = Seconds(std::exp(z[kFixed])),
          .bandwidth = BytesPerSecond(std::exp(z[kBandwidth])),
          .tile_exponent = std::exp(z[kExponent]),
          .wave = 1 / (1 + std::exp(-z[kWave])),
          .source = SourceClass::fitted,
          .table = {},
          .corrections = {}};
}

double rounded_error(Seconds predicted, Seconds measured) {
  const double e = std::log(predicted / measured);
  return std::sqrt(e * e + kRound * kRound);
}

template <class Points, class Predict>
double mean_error(const Points& points, Predict predict_point) {
  double sum = 0;
  for (const auto& p : points) sum += rounded_error(predict_point(p), p.time);
  return sum / static_cast<double>(points.size());
}

ProductCall call_of(const ProductPoint& p, const GroupedLaw& grouped) {
  ProductCall call{.shape = {.m = p.shape.m, .n = p.shape.n, .k = p.shape.k},
                   .bytes = p.bytes,
                   .weight_gradient = p.shape.weight_gradient,
                   .backward = p.shape.backward,
                   .narrow = p.shape.math != GemmMath::bf16};
  if (p.shape.groups <= 1) return call;
  call.shape.groups = p.shape.groups;
  double& shared = p.shape.weight_gradient ? call.shape.k : call.shape.m;
  shared = padded_rows(shared / p.shape.groups, grouped);
  return call;
}

const GemmLaw& law_for(const GemmLaws& laws, GemmMath math) {
  return laws.by_math[static_cast<std::size_t>(math)];
}

double share_of(double z) { return std::exp(z); }

}  // namespace

std::vector<GemmTile> gemm_tiles(const GpuSpec& gpu) {
  if (gpu.peak_fp4 > FlopsPerSecond(0)) {
    return {{256, 256}, {256, 128}, {128, 256}, {256, 192}, {128, 192},
            {128, 128}, {256, 64},  {128, 64},  {64, 64}};
  }
  return {{128, 256}, {256, 128}, {128, 128}, {64, 256}, {128, 64}, {64, 128}, {64, 64}};
}

GemmLaw fit_gemm_law(const std::vector<ProductPoint>& points, const GpuSpec& gpu,
                     const std::vector<GemmTile>& tiles, FlopsPerSecond peak,
                     const GemmLaw* like) {
  PLEAT_ASSERT(!points.empty() && gpu.sms > 0 && peak.base() > 0);
  Seconds shortest = points.front().time;
  for (const ProductPoint& p : points) shortest = std::min(shortest, p.time);
  const double most_rate = std::log(kMostOfPeak * peak.base());
  const double most_bandwidth = std::log(kMostOfBandwidth * gpu.memory_bandwidth.base());
  std::vector<Constant> z(6);
  z[kDepth] = {std::log(100.0), std::log(1e-3), std::log(1e4)};
  z[kFixed] = {0, std::log(1e-9), std::log(shortest.base())};
  z[kExponent] = {std::log(0.02), std::log(1e-4), std::log(2.0)};
  z[kWave] = {-1, -7, 7};
  if (like != nullptr) {
    const double exponent = std::log(std::max(1e-4, like->tile_exponent));
    const double wave = std::clamp(like->wave, 1e-3, 1 - 1e-3);
    z[kDepth].start = std::log(std::max(1e-3, like->depth));
    z[kExponent] = {exponent, exponent, exponent};
    z[kWave].start = z[kWave].low = z[kWave].high = std::log(wave / (1 - wave));
  }
  const auto error_of = [&](const std::vector<double>& constants) {
    const GemmLaw law = law_of(constants);
    return mean_error(points, [&](const ProductPoint& p) {
      const GemmShape shape{.m = p.shape.m, .n = p.shape.n, .k = p.shape.k};
      return law_time(law, tiles, gpu.sms, shape, p.bytes, 1.0);
    });
  };
  Fit best;
  for (const double share : {0.9, 0.6}) {
    for (const double fixed : {0.6, 0.2}) {
      const double bandwidth = std::log(0.6 * gpu.memory_bandwidth.base());
      z[kRate] = {std::log(share * peak.base()), most_rate - 14, most_rate};
      z[kBandwidth] = {bandwidth, most_bandwidth - 14, most_bandwidth};
      z[kFixed].start = std::log(std::max(1e-9, fixed * shortest.base()));
      const Fit fit = walk_down(z, error_of);
      if (fit.error < best.error) best = fit;
    }
  }
  return law_of(best.constants);
}

GroupedLaw fit_grouped_law(const std::vector<ProductPoint>& points, const GpuSpec& gpu,
                           const GemmLaws& laws) {
  std::vector<ProductPoint> wide, narrow;
  for (const ProductPoint& p : points) {
    if (p.shape.groups <= 1 || law_for(laws, p.shape.math).rate <= FlopsPerSecond(0)) continue;
    (p.shape.math == GemmMath::bf16 ? wide : narrow).push_back(p);
  }
  GemmLaws trial = laws;
  const auto error_on = [&](const std::vector<ProductPoint>& some) {
    return mean_error(some, [&](const ProductPoint& p) { return predict(trial, p, gpu); });
  };
  const Constant share{std::log(0.8), std::log(0.01), 0};  // of the dense law's rate
  if (!wide.empty()) {
    const Constant each{std::log(2e-7), std::log(1e-10), std::log(1e-4)};  // seconds an expert
    const auto set = [&](const std::vector<double>& z) {
      trial.grouped.rate = share_of(z[0]);
      trial.grouped.wgrad_rate = share_of(z[1]);
      trial.grouped.forward_per_expert = Seconds(std::exp(z[2]));
      trial.grouped.backward_per_expert = Seconds(std::exp(z[3]));
      trial.grouped.wgrad_per_expert = Seconds(std::exp(z[4]));
    };
    const Fit fit = walk_down({share, share, each, each, each}, [&](const auto& z) {
      set(z);
      return error_on(wide);
    });
    set(fit.constants);
  }
  trial.grouped.narrow_rate = trial.grouped.rate;
  if (!narrow.empty()) {
    const Fit fit = walk_down({share}, [&](const auto& z) {
      trial.grouped.narrow_rate = share_of(z[0]);
      return error_on(narrow);
    });
    trial.grouped.narrow_rate = share_of(fit.constants[0]);
  }
  return trial.grouped;
}

Seconds predict(const GemmLaws& laws, const ProductPoint& p, const GpuSpec& gpu) {
  return product_price(laws, law_for(laws, p.shape.math), gpu.sms, call_of(p, laws.grouped)).time;
}

namespace {

constexpr double kReach = 1.0;  // in ln: the covariance falls to 1/e
constexpr double kMost = 0.92;  // a factor of 2.5: more than that is no property of a shape
constexpr double kNoise = 0.3;  // of the variance that the covariance explains

using Logs = std::array<double, 3>;

Logs logs_of(double m, double n, double k) { return {std::log(m), std::log(n), std::log(k)}; }

double covariance(const Logs& a, const Logs& b) {
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::exp(-std::sqrt(squares) / kReach);
}

// Solves (covariance + noise) x = y by Cholesky's factors; the matrix is positive definite.
std::vector<double> weights_of(const std::vector<Logs>& at, const std::vector<double>& y) {
  const std::size_t n = at.size();
  std::vector<double> l(n * n, 0), x(y);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = covariance(at[i], at[j]) + (i == j ? kNoise : 0);
      for (std::size_t c = 0; c < j; ++c) sum -= l[i * n + c] * l[j * n + c];
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < i; ++c) x[i] -= l[i * n + c] * x[c];
    x[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t r = i + 1; r < n; ++r) x[i] -= l[r * n + i] * x[r];
    x[i] /= l[i * n + i];
  }
  return x;
}

// Powers of two, and where `halves` the middles between them.
std::vector<int> nodes(bool halves) {
  std::vector<int> list;
  for (int node = 64; node <= 65536; node *= 2) {
    list.push_back(node);
    if (halves && node < 65536) list.push_back(node + node / 2);
  }
  return list;
}

}  // namespace

std::string gemm_corrections(const std::vector<ProductPoint>& points, const GpuSpec& gpu,
                             const std::vector<GemmTile>& tiles, const GemmLaw& law) {
  std::vector<Logs> at;
  std::vector<double> left;  // ln(measured / law)
  for (const ProductPoint& p : points) {
    const GemmShape shape{.m = p.shape.m, .n = p.shape.n, .k = p.shape.k};
    at.push_back(logs_of(shape.m, shape.n, shape.k));
    const double c = std::log(p.time / law_time(law, tiles, gpu.sms, shape, p.bytes, 1.0));
    left.push_back(std::clamp(c, -kMost, kMost));
  }
  const std::vector<double> weights = weights_of(at, left);
  const std::vector<int> m_nodes = nodes(false), nodes_of_others = nodes(true);
  std::string text = fmt::format(
      "# ln(measured / law) in thousandths on a grid of m, n and k, of {} products that "
      "pleat calibrate measured.\nm,n,{}\n",
      points.size(), fmt::join(nodes_of_others, ","));
  for (const int m : m_nodes) {
    for (const int n : nodes_of_others) {
      text += fmt::format("{},{}", m, n);
      for (const int k : nodes_of_others) {
        const Logs here = logs_of(m, n, k);
        double c = 0;
        for (std::size_t i = 0; i < at.size(); ++i) c += weights[i] * covariance(here, at[i]);
        text += fmt::format(",{}", std::lround(1000 * c));
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace pleat
