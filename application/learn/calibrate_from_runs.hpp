// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat calibrate --from-runs`: a profile that learns from one's own runs.
#pragma once

#include <string>
#include <vector>

#include "console/write_file.hpp"

namespace pleat {

struct FromRunsOptions {
  std::vector<std::string> files;
  std::string cluster, profile;  // empty: as the runs say, and the usual one
  OutputOptions output;          // no file: the profile is not kept
  bool json = false;             // the profile, in place of the report
};

// Learns, prints what moved, writes the profile and its tables.
void calibrate_from_runs(const FromRunsOptions&);

}  // namespace pleat
