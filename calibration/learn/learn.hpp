// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A profile that has learned from runs of its cluster: its few constants moved within what is known
// of them, and how sure they are now (docs/MODEL.md section 14).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/spec/profile.hpp"
#include "simulator/estimate.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {

// A run that was measured, and how it is priced.
struct RunToLearn {
  std::string file, name, what;  // as in LearnedRun
  double measured = 0;           // seconds a step
  int gpus = 1;
  BandUse use;
  std::function<StepEstimate(const Profile&)> price;
};

// Its section `learned` says what moved, by what, and which runs are odd; relative_band and
// band_terms are as the runs leave them. ConfigError (bad_file) for no runs, for runs that
// disagree so far that most of them would be odd, and for a profile that has learned before.
[[nodiscard]] Profile learn_from_runs(const Profile&, const std::vector<RunToLearn>&);

}  // namespace pleat
