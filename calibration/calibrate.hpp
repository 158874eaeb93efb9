// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat calibrate`: measures this machine's kernels and collectives and fits its profile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/profile_fit.hpp"
#include "calibration/plan.hpp"

namespace pleat {

struct CalibrationProgress {
  std::string family, name;  // being measured
  int done = 0, points = 0;  // of the whole plan
  double seconds_left = 0;   // at the rate of this run so far; 0 at its start
};

struct CalibrateConfig {
  int ranks = 4;               // threads that share the cores in the second round
  double point_seconds = 0.1;  // a point stops here at the latest
  // Through the whole plan, with a share of point_seconds each: a point keeps its quicker pass, so
  // that what else the host did for some seconds is no part of the profile.
  int passes = 1;
  // No point is begun later; what was measured until then is spread over the whole plan. 0: all are
  // measured. Of one process alone.
  double within_seconds = 0;
  double confidence = 0;       // stop once the mean is known this well; 0: no such condition
  int sets = 32;               // of buffers at most, so that a point does not stay in caches
  std::string created = {};    // ISO 8601 date for the profile
  // A log of raw times. Points that it holds already are not measured again. Empty: no log.
  std::string log_file = {};
  Bench* bench = nullptr;        // another device than the CPU, with the points of a GPU
  RankRunner* runner = nullptr;  // other ranks than `ranks` threads
  std::int64_t collective_bytes = kMostCollectiveBytes;  // the largest of a collective's points
  std::string collectives = {};  // what the ranks' exchanges go through, a fact of the result
  bool windows = false;  // collectives of all ranks in symmetric windows beside those without
  StreamWorkSizes overlap = {};  // beside collectives of a GPU's points; nothing by default
  std::string nccl = {};         // its version, where they go through it
  double sustained_seconds = 0;  // a GPU's clock under load, measured for so long; 0: not
  std::function<void(const CalibrationProgress&)> on_progress = {};  // may be empty
};

using Facts = std::vector<std::pair<std::string, std::string>>;

struct CalibrationResult {
  Profile profile;  // for Runtime::pleat; write_profile writes it
  std::vector<Sample> samples;
  std::vector<Residual> residuals;
  TableTexts tables;                // that the profile names; they lie in its folder
  std::vector<std::string> failed;  // points that could not be measured
  Facts facts;                      // device, versions, clocks, the plan's digest
  int resumed = 0;                  // points that were in the log
  int left = 0;                     // that within_seconds left no time for
  double seconds = 0;               // the whole run
};

// "[#####...............]  25%  gemm 512x4096x4096  3:20 left"
[[nodiscard]] std::string progress_line(const CalibrationProgress&);

// In a job of several processes all call it; the result is whole where rank 0 is, else empty.
// ConfigError (device_or_io) where the device breaks: what was measured before is in the log.
[[nodiscard]] CalibrationResult calibrate(const ClusterSpec&, const CalibrateConfig&);

// The fitted constants and the residuals as a table.
[[nodiscard]] std::string print_residuals(const CalibrationResult&);

// Times of collectives in symmetric windows beside those without; empty where none were measured.
[[nodiscard]] std::string print_windows(const CalibrationResult&);

// Every sample, to be kept beside the profile.
[[nodiscard]] std::string samples_json(const CalibrationResult&);

}  // namespace pleat
