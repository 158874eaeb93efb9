// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/reliability/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pleat {

std::int64_t checkpoint_bytes_per_parameter(Precision precision, const OptimizerPlan& types) {
  const std::int64_t moments = bytes_of(types.exp_avg, 1) + bytes_of(types.exp_avg_sq, 1);
  const auto with_copy = [&](std::int64_t weight) {
    return weight + bytes_of(types.main_params, 1) + moments;
  };
  switch (precision) {
    case Precision::fp32: return 4 + moments;
    case Precision::fp16:
    case Precision::bf16:
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
    case Precision::mxfp8:
    case Precision::nvfp4: return with_copy(2);
  }
  return 0;
}

SaveTimes blocking_save(Bytes checkpoint, BytesPerSecond storage, Seconds fixed) {
  return {fixed + checkpoint / storage, Seconds(0)};
}

SaveTimes background_save(Bytes checkpoint, int gpus, BytesPerSecond host_link,
                          BytesPerSecond storage, Seconds fixed) {
  return {fixed + checkpoint / gpus / host_link, checkpoint / storage};
}

Seconds young_interval(Seconds stall, Seconds mtbf) {
  return Seconds(std::sqrt(2 * mtbf.base() * stall.base()));
}

Seconds daly_interval(Seconds stall, Seconds mtbf) {
  const double share = stall.base() / (2 * mtbf.base());
  return young_interval(stall, mtbf) * (1 + std::sqrt(share) / 3 + share / 9) - stall;
}

Seconds renewal_interval(Seconds stall, Seconds mtbf) {
  if (std::isinf(mtbf.base())) return Seconds(std::numeric_limits<double>::infinity());
  // With x = work / mtbf and c = stall / mtbf the derivative vanishes where 1 - x = exp(-(x + c)).
  // The left side falls, so Newton from the right (x = 1 at most) comes down on the root.
  const double c = stall.base() / mtbf.base();
  double x = std::min(1.0, std::sqrt(2 * c));
  for (int i = 0; i < 100; ++i) {
    const double value = -x - std::expm1(-(x + c));
    const double slope = std::expm1(-(x + c));
    if (slope == 0) break;
    const double next = std::clamp(x - value / slope, 0.0, 1.0);
    const bool done = std::abs(next - x) <= 1e-15 * x;
    x = next;
    if (done) break;
  }
  return mtbf * x;
}

double recovery_pressure(Seconds mtbf, Seconds restart, Seconds interval) {
  return (restart + interval / 2) / mtbf;
}

}  // namespace pleat
