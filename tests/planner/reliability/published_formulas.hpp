// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published formulas that the exact ones are compared with.
#pragma once

#include <algorithm>
#include <cmath>

#include "planner/reliability/checkpoint.hpp"

namespace pleat::test {

// Time between the starts of two saves that maximises availability. arXiv:2410.18124.
inline Seconds availability_interval(Seconds stall, Seconds mtbf, Seconds restart) {
  const double s = stall.base();
  return Seconds(s + std::sqrt(2 * (mtbf + restart).base() * s + s * s));
}

// Effective training time ratio to first order, clamped to [0, 1]:
// (1 - recovery pressure) / (1 + stall / interval). arXiv:2410.21680.
inline double small_loss_goodput(Seconds stall, Seconds mtbf, Seconds restart, Seconds interval) {
  const double kept = 1 - recovery_pressure(mtbf, restart, interval);
  return std::clamp(kept / (1 + stall / interval), 0.0, 1.0);
}

}  // namespace pleat::test
