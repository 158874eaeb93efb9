// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From samples to a profile: one curve a kernel family, on a GPU laws of matrix products and rates
// of attention, one curve a collective, the penalty of sharing cores, and how far the fit is off,
// on the points it saw and on those it did not (family.hpp).
#pragma once

#include <vector>

#include "calibration/fit/family.hpp"
#include "calibration/fit/law_fit.hpp"
#include "calibration/sample.hpp"
#include "core/spec/cluster.hpp"

namespace pleat {

struct FittedProfile {
  Profile profile;  // name, cluster, provenance and host times are the caller's
  std::vector<Residual> residuals;
  TableTexts tables = {};  // that the profile names
};

// Kernels measured alone give the curves. Those measured on all cores or more threads give
// sharing_penalty: the median of (slow-down / (threads / cores)), and each class its contention.
// Collective times are divided by the slow-down that the simulator will multiply them with.
[[nodiscard]] FittedProfile fit(const std::vector<Sample>&, const ClusterSpec&);

}  // namespace pleat
