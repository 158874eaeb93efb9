// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a calibration measures, point after point: the same list for the same kind of device and the
// same ranks, so that samples of two calibrations can be compared and one that was killed goes on.
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
  StreamWorkSizes overlap = {};  // beside collectives of all ranks of a GPU's points
  // Of a product and of attention on a GPU each, for the clock under load; 0: not measured.
  double sustained_seconds = 0;
};

struct PlannedPoint {
  std::string name, family;
  bool all_processes = false;  // of a job: a collective; else only rank 0's measures
  double seconds = 0;          // it is measured for so long at most
  std::function<Timing()> measure;
  std::function<Sample(const Timing&)> sample;
};

// Kernels of the bench; on the CPU some of them on `runner`'s ranks at once too; then collectives
// of 2, 4, … ranks, in blocks of calls. On a GPU also what is judged and not fitted, kJudgedShare
// of a point's time each.
[[nodiscard]] std::vector<PlannedPoint> plan_points(Bench&, PointSet, RankRunner&,
                                                    const PlanLimits&);

// 16 hexadecimal digits that change with any point's name or their order.
[[nodiscard]] std::string digest_of(const std::vector<PlannedPoint>&);

// Names of points that profiles take constants from.
inline constexpr const char* kLaunchPoint = "launch, 100 calls";
inline constexpr const char* kSustained = "sustained";  // OtherSample::what
// Of attention: a sample, no constant.
inline constexpr const char* kSustainedAttention = "sustained attention";
[[nodiscard]] std::string barrier_point(int ranks);

}  // namespace pleat
