// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits the curve of one collective:
//   t = latency + latency_per_rank (n - 1) + wire / (efficiency * bandwidth)
// Linear in its three constants, so weighted least squares (weight 1/t^2: relative errors), with no
// negative constant: of the solutions with some constants left out, the best one without a
// negative.
#pragma once

#include <string>
#include <vector>

#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

struct WirePoint {
  int group = 2;
  Bytes wire;
  Seconds time;
};

// Needs at least one point. latency_per_rank stays 0 when all groups have one size.
[[nodiscard]] CollectiveCurve fit_collective(const std::vector<WirePoint>&,
                                             BytesPerSecond bandwidth);

// The first tier that holds all ranks of a group; the cluster has one.
[[nodiscard]] std::size_t tier_of(const CollectiveSample&, const ClusterSpec&);
// "all_gather", in tiers beyond the first "all_gather over rail".
[[nodiscard]] std::string family_of(Collective, std::size_t tier, const ClusterSpec&);

[[nodiscard]] Seconds predict(const CollectiveCurve&, const WirePoint&, BytesPerSecond bandwidth);

}  // namespace pleat
