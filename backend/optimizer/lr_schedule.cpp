// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/optimizer/lr_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pleat {
namespace {

double half_cosine(double done) { return 0.5 * (std::cos(std::numbers::pi * done) + 1.0); }

// Share of the peak that is left when `done` of WSD's last steps are.
double wsd_left(WsdDecay how, double done) {
  switch (how) {
    case WsdDecay::linear: return 1 - done;
    case WsdDecay::cosine: return half_cosine(done);
    case WsdDecay::exponential: return 2 * std::exp2(-done) - 1;
    case WsdDecay::minus_sqrt: return 1 - std::sqrt(done);
  }
  return 1;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double learning_rate(const LrSchedule& s, double peak, std::int64_t updates) {
  if (s.warmup_updates > 0 && updates <= s.warmup_updates) {
    return s.start + (peak - s.start) * ratio(updates, s.warmup_updates);
  }
  if (s.decay == LrDecay::constant) return peak;
  if (updates > s.decay_updates) return s.lowest;
  const double range = peak - s.lowest;
  // Beyond here the warm-up ends before the decay does, or both are 0.
  const std::int64_t way = s.decay_updates - s.warmup_updates;
  const double done = way > 0 ? ratio(updates - s.warmup_updates, way) : 1;
  switch (s.decay) {
    case LrDecay::constant: break;
    case LrDecay::linear: return s.lowest + range * (1 - done);
    case LrDecay::cosine: return s.lowest + range * half_cosine(done);
    case LrDecay::inverse_square_root: {
      const auto first = std::max<std::int64_t>(s.warmup_updates, 1);
      const double left = std::sqrt(ratio(first, std::max<std::int64_t>(updates, 1)));
      return std::max(s.lowest, peak * left);
    }
    case LrDecay::wsd: {
      const std::int64_t last = updates - (s.decay_updates - s.wsd_decay_updates);
      if (last <= 0) return peak;
      return s.lowest + range * wsd_left(s.wsd_decay, ratio(last, s.wsd_decay_updates));
    }
  }
  return peak;
}

std::string_view name_of(LrDecay decay) {
  switch (decay) {
    case LrDecay::constant: return "constant";
    case LrDecay::linear: return "linear";
    case LrDecay::cosine: return "cosine";
    case LrDecay::inverse_square_root: return "inverse-square-root";
    case LrDecay::wsd: return "WSD";
  }
  return "?";
}

std::string_view name_of(WsdDecay decay) {
  switch (decay) {
    case WsdDecay::linear: return "linear";
    case WsdDecay::cosine: return "cosine";
    case WsdDecay::exponential: return "exponential";
    case WsdDecay::minus_sqrt: return "minus_sqrt";
  }
  return "?";
}

}  // namespace pleat
