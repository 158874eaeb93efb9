// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Commands that do more than one call of the application once their options are read.
#pragma once

#include "application/training/train_options.hpp"
#include "cli/commands/tune_trials.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

void run_train(const TrainOptions&, const PlanOptions&);
void run_tune(const TuneRequest&);

}  // namespace pleat::cli
