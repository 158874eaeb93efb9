// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The prediction for one published run, with the best of what it leaves open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/run_request.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

struct RunPrediction {
  Plan plan;  // as it was predicted
  StepEstimate estimate;
  std::vector<std::string> broken;  // rules of ours that the run breaks, with their messages
  std::vector<std::string> notes;
};

struct PredictedRun {
  std::optional<RunPrediction> prediction;
  std::string reason;  // why there is none
};

[[nodiscard]] PredictedRun predict_run(const RunRequest&);

// Rules without which a plan has no program; the others a run may break and is predicted.
[[nodiscard]] const std::vector<std::string>& rules_of_programs();

// The step time a row states, or the one its throughput or MFU means; nothing if it has none.
struct MeasuredStep {
  double seconds = 0;
  std::string from;  // "step time", "TFLOP/s", "MFU"
};
[[nodiscard]] std::optional<MeasuredStep> measured_step(const MeasuredRun&, const RunRequest&);

}  // namespace pleat
