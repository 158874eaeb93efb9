// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits the curves of kernel families and of collectives to measured points.
#pragma once

#include <string>
#include <vector>

#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

// Fits the efficiency curve of one kernel family (core/spec/profile.hpp) to measured points:
//   t = fixed + max((flops + half_work) / (peak * max_efficiency),
//                   bytes / (bandwidth * memory_efficiency))
// by minimising the mean |ln(predicted / measured)|: every point counts by its relative error, and
// a few disturbed measurements do not bend the curve. Method: from several starts, walk_down() in
// the logarithms of the four constants. The grid of starts keeps it out of the optimum in which one
// side of the max explains all.

struct WorkPoint {
  Flops flops;  // 0: bound by memory only
  Bytes bytes;
  Seconds time;
  DType math = DType::fp32;  // whose peak the flops are held against
};

// Needs at least one point. Efficiencies are at most 1; constants that no point informs (arithmetic
// without flops) keep their defaults.
[[nodiscard]] EfficiencyCurve fit_kernel(const std::vector<WorkPoint>&, const GpuSpec&);

[[nodiscard]] Seconds predict(const EfficiencyCurve&, const WorkPoint&, const GpuSpec&);

// Fits the curve of one collective:
//   t = latency + latency_per_rank (n - 1) + wire / (efficiency * bandwidth)
// Linear in its three constants, so weighted least squares (weight 1/t^2: relative errors), with no
// negative constant: of the solutions with some constants left out, the best one without a
// negative.

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
