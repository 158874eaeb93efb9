// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pleat {
namespace {

double llama3(const RopeScaling& s, double frequency) {
  const double turns = s.original_positions * frequency / (2 * std::numbers::pi);
  if (turns < s.low_freq_factor) return frequency / s.factor;
  if (turns >= s.high_freq_factor) return frequency;
  const double keep = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1 - keep) * frequency / s.factor + keep * frequency;
}

// The pair that turns `rotations` times within the original length, as a real number.
double pair_of(const RopeScaling& s, double theta, double dim, double rotations) {
  return dim * std::log(s.original_positions / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(theta));
}

double yarn(const RopeScaling& s, double theta, std::int64_t dim, std::int64_t pair,
            double frequency) {
  const auto width = static_cast<double>(dim);
  double low = pair_of(s, theta, width, s.beta_fast), high = pair_of(s, theta, width, s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, width - 1);
  if (low == high) high += 0.001;
  const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return frequency / s.factor * ramp + frequency * (1 - ramp);
}

}  // namespace

double rope_frequency(const RopeScaling& s, double theta, std::int64_t dim, std::int64_t pair) {
  const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(dim);
  const double frequency = std::pow(theta, -exponent);
  switch (s.rule) {
    case RopeRule::plain:
    case RopeRule::unknown: return frequency;
    case RopeRule::linear: return frequency / s.factor;
    case RopeRule::llama3: return llama3(s, frequency);
    case RopeRule::yarn: return yarn(s, theta, dim, pair, frequency);
  }
  return frequency;
}

double yarn_magnitude(double factor, double m) {
  return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
}

}  // namespace pleat
