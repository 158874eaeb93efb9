// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measures this machine and keeps the profile.
#pragma once

#include <string>

#include "calibration/calibrate.hpp"

namespace pleat {

struct CalibrateOptions {
  std::string cluster = "localhost";
  std::string out_file;  // empty: where profiles of this machine are found by name
  std::string device = "cpu";  // cpu, cuda
  std::string collectives = "nccl";  // between GPUs: nccl, or direct
  bool symmetric_windows = false;    // collectives in symmetric windows, too
  int ranks = 4;
  double sustained = 0;  // seconds of a product and of attention on a GPU; 0: no clock under load
  double point_seconds = 0;  // at most for a point; 0: what the device's points usually get
  double within = 0;         // seconds for all points; 0: as long as it takes
  bool json = false;
};

// `pleat calibrate`: fits, writes the profile and its samples, prints residuals.
void calibrate_machine(const CalibrateOptions&);

// Measures, writes `profile_file` and, beside it, the samples; the log of raw times is removed
// then.
[[nodiscard]] CalibrationResult calibrate_to(const ClusterSpec&, int ranks,
                                             const std::string& profile_file);
[[nodiscard]] CalibrationResult calibrate_to(const ClusterSpec&, CalibrateConfig,
                                             const std::string& profile_file);

}  // namespace pleat
