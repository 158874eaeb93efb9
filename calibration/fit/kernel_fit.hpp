// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits the efficiency curve of one kernel family (core/spec/profile.hpp) to measured points:
//   t = fixed + max((flops + half_work) / (peak * max_efficiency),
//                   bytes / (bandwidth * memory_efficiency))
// by minimising the mean |ln(predicted / measured)|: every point counts by its relative error, and
// a few disturbed measurements do not bend the curve. Method: from several starts, walk_down() in
// the logarithms of the four constants. The grid of starts keeps it out of the optimum in which one
// side of the max explains all.
#pragma once

#include <vector>

#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

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

}  // namespace pleat
