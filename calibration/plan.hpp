// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The list of points that a calibration measures. It depends on the kind of device and the ranks
// alone, so that two calibrations can be compared, and a calibration that was killed can go on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/microbench/overlap.hpp"
#include "calibration/microbench/points.hpp"

namespace pleat {

struct PlanLimits {
  TimingLimits kernel, collective;
  std::int64_t collective_bytes = kMostCollectiveBytes;
  bool windows = false;  // collectives of all ranks in symmetric windows, too
  StreamWorkSizes overlap = {};  // work beside collectives of all ranks, on GPUs
  // Time for a product and for attention on a GPU, to see the clock under load; 0: not measured.
  double sustained_seconds = 0;
};

struct PlannedPoint {
  std::string name, family;
  bool all_processes = false;  // a collective; other points are measured by rank 0's process alone
  double seconds = 0;          // the longest that it is measured
  std::function<Timing()> measure;
  std::function<Sample(const Timing&)> sample;
};

// First the kernels; on a CPU some of them also on all of `runner`'s ranks at once. Then
// collectives of 2, 4, 8 and more ranks, in blocks of calls. On a GPU also points that are judged
// and not fitted, with kJudgedShare of a point's time each.
[[nodiscard]] std::vector<PlannedPoint> plan_points(Bench&, PointSet, RankRunner&,
                                                    const PlanLimits&);

// 16 hexadecimal digits that change with any point's name or their order.
[[nodiscard]] std::string digest_of(const std::vector<PlannedPoint>&);

// Names of points that profiles take constants from.
inline constexpr const char* kLaunchPoint = "launch, 100 calls";
inline constexpr const char* kSustained = "sustained";  // OtherSample::what
// The same for attention: a sample that no constant is taken from.
inline constexpr const char* kSustainedAttention = "sustained attention";
[[nodiscard]] std::string barrier_point(int ranks);

}  // namespace pleat
