// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The range of possible mtbfs is split into parts of equal probability. For each part the first
// three moments of the finish time, over failures and step times, are worked out. They determine a
// shifted gamma distribution (Pearson III). The finish time is distributed as the mixture of all
// parts.
#include "planner/reliability/finish_time.hpp"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kStrata = 31;

// Points and weights that integrate over the standard normal distribution (Gauss-Hermite).
struct Node {
  double z, weight;
};
constexpr std::array<Node, 5> kNodes{{{-2.8569700138728056, 0.011257411327720691},
                                      {-1.3556261799742659, 0.22207592200561266},
                                      {0, 0.53333333333333333},
                                      {1.3556261799742659, 0.22207592200561266},
                                      {2.8569700138728056, 0.011257411327720691}}};

struct Moments {
  double mean = 0, variance = 0, third = 0;  // the third central moment
};

double normal_cdf(double z) { return boost::math::erfc(-z / std::sqrt(2.0)) / 2; }
double normal_quantile(double p) { return -std::sqrt(2.0) * boost::math::erfc_inv(2 * p); }

// Of the finish time, over failures alone.
Moments moments_of(const TrainingRun& run, double step, Seconds mtbf) {
  SaveCycle cycle = run.cycle;
  cycle.work *= step;
  cycle.mtbf = mtbf;
  return {expected_restart(run.start, mtbf).base() +
              run.cycles * expected_cycle(cycle).total().base(),
          run.cycles * cycle_variance(cycle), run.cycles * cycle_third_moment(cycle)};
}

// Of the finish time, over failures and step times (by the law of total cumulance).
Moments moments_of(const TrainingRun& run, Seconds mtbf) {
  if (run.step_factor <= 1) return moments_of(run, 1, mtbf);
  const double sigma = std::log(run.step_factor) / kNormal90;
  std::array<Moments, kNodes.size()> at{};
  Moments total;
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = moments_of(run, std::exp(sigma * kNodes[i].z), mtbf);
    total.mean += kNodes[i].weight * at[i].mean;
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double off = at[i].mean - total.mean;
    total.variance += kNodes[i].weight * (at[i].variance + off * off);
    total.third +=
        kNodes[i].weight * (at[i].third + 3 * off * at[i].variance + off * off * off);
  }
  return total;
}

// Of the shifted gamma distribution with these moments; of the normal one where it is hardly
// skewed.
double cdf(const Moments& m, double time) {
  const double deviation = std::sqrt(m.variance);
  if (deviation <= 1e-12 * m.mean) return time >= m.mean ? 1 : 0;
  const double z = (time - m.mean) / deviation;
  const double skew = m.third / (m.variance * deviation);
  if (skew < 1e-3) return normal_cdf(z);
  const double shape = 4 / (skew * skew);
  const double x = shape + z * std::sqrt(shape);
  return x <= 0 ? 0 : boost::math::gamma_p(shape, x);
}

std::vector<Moments> strata(const TrainingRun& run) {
  const bool known = run.mtbf_factor <= 1 || std::isinf(run.cycle.mtbf.base());
  const double sigma = known ? 0 : std::log(run.mtbf_factor) / kNormal90;
  const int count = known ? 1 : kStrata;
  std::vector<Moments> list;
  for (int i = 0; i < count; ++i) {
    const double z = normal_quantile((i + 0.5) / count);
    list.push_back(moments_of(run, run.cycle.mtbf * std::exp(-sigma * z)));
  }
  return list;
}

double mixture(const std::vector<Moments>& list, double time) {
  double sum = 0;
  for (const Moments& m : list) {
    if (std::isfinite(m.mean) && std::isfinite(m.third)) sum += cdf(m, time);
  }
  return sum / static_cast<double>(list.size());
}

Seconds quantile(const std::vector<Moments>& list, double probability) {
  double low = 0, high = std::max(1.0, list[list.size() / 2].mean);
  if (!std::isfinite(high)) high = 1;
  while (mixture(list, high) < probability) {
    high *= 2;
    if (high > 1e15) return Seconds(std::numeric_limits<double>::infinity());
  }
  for (int i = 0; i < 100 && high - low > 1e-11 * high; ++i) {
    const double middle = (low + high) / 2;
    (mixture(list, middle) < probability ? low : high) = middle;
  }
  return Seconds(high);
}

}  // namespace

FinishTime finish_time(const TrainingRun& run) {
  const std::vector<Moments> list = strata(run);
  return {Seconds(moments_of(run, 1, run.cycle.mtbf).mean), quantile(list, 0.5),
          quantile(list, 0.9)};
}

}  // namespace pleat
