// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/gemm_corrections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/cost/op_work.hpp"

namespace pleat {
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
