// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the commands that need the training backend do once their options are read.
//
// There are two programs. `pleat` is the whole one. `pleat-planner` is built without the backend,
// which takes two thirds of the time: it knows the same commands and options, and hands these over
// to `pleat`.
#pragma once

#include <functional>

#include "application/data/data_commands.hpp"
#include "application/training/checkpoints.hpp"
#include "application/training/export_weights.hpp"
#include "application/training/sample_text.hpp"
#include "application/training/train_options.hpp"
#include "application/tune/calibrate_machine.hpp"
#include "cli/commands/tune_trials.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

struct BackendCommands {
  std::function<void(const TrainOptions&, const PlanOptions&)> train;
  std::function<void(const CheckpointsOptions&)> verify_checkpoints, repair_checkpoints;
  std::function<void(const SampleOptions&)> sample_text;
  std::function<void(const MakeDataOptions&)> make_data;
  std::function<void(const InspectDataOptions&)> inspect_data;
  std::function<void(const TokenizeOptions&)> tokenize_text;
  std::function<void(const CalibrateOptions&)> calibrate_machine;
  std::function<void(const TuneRequest&)> tune;
  std::function<void(const ExportWeightsOptions&)> export_weights;
};

// Of the whole program.
[[nodiscard]] BackendCommands backend_commands();

}  // namespace pleat::cli
