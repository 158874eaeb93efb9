// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits the curve of one collective:
//   t = latency + latency_per_rank (n - 1) + wire / (efficiency * bandwidth)
// Linear in its three constants, so weighted least squares (weight 1/t^2: relative errors), with no
// negative constant: of the solutions with some constants left out, the best one without a
// negative.
#pragma once

#include <vector>

#include "calibration/sample.hpp"

namespace pleat {

struct WirePoint {
  int group = 2;
  Bytes wire;
  Seconds time;
};

// Needs at least one point. latency_per_rank stays 0 when all groups have one size.
[[nodiscard]] CollectiveCurve fit_collective(const std::vector<WirePoint>&,
                                             BytesPerSecond bandwidth);

[[nodiscard]] Seconds predict(const CollectiveCurve&, const WirePoint&, BytesPerSecond bandwidth);

}  // namespace pleat
