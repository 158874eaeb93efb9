// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat calibrate`: measures this machine's kernels and collectives and fits its profile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/profile_fit.hpp"

namespace pleat {

struct CalibrateConfig {
  int ranks = 4;                // threads that share the cores in the second round
  double point_seconds = 0.15;  // a point stops here at the latest
  std::string created;          // ISO 8601 date for the profile
  std::function<void(const std::string& family)> on_progress;  // may be empty
};

struct CalibrationResult {
  Profile profile;  // for Runtime::pleat; write_profile writes it
  std::vector<Sample> samples;
  std::vector<Residual> residuals;
  double seconds = 0;  // the whole run
};

[[nodiscard]] CalibrationResult calibrate(const ClusterSpec&, const CalibrateConfig&);

// The fitted constants and the residuals as a table.
[[nodiscard]] std::string print_residuals(const CalibrationResult&);

// Every sample, to be kept beside the profile.
[[nodiscard]] std::string samples_json(const CalibrationResult&);

}  // namespace pleat
