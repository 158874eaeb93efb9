// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From samples to a profile: one curve a kernel family, one a collective, the penalty of sharing
// cores, and how far the fit is off, on the points it saw and on every fourth, which it did not.
#pragma once

#include <vector>

#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

struct Residual {
  std::string family;                                // "gemm", "all_gather", "shared by 4 threads"
  int in_sample = 0, held_out = 0;                   // points
  double in_sample_median = 0, held_out_median = 0;  // |predicted / measured - 1|
  double held_out_worst = 0;
  bool operator==(const Residual&) const = default;
};

struct FittedProfile {
  Profile profile;  // name, cluster, provenance and host times are the caller's
  std::vector<Residual> residuals;
};

// Kernels measured alone give the curves. Those measured on all cores or more threads give
// sharing_penalty: the median of (slow-down / (threads / cores)), and each class its contention.
// Collective times are divided by the slow-down that the simulator will multiply them with.
[[nodiscard]] FittedProfile fit(const std::vector<Sample>&, const ClusterSpec&);

}  // namespace pleat
