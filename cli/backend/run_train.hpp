// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat train, once its options are read.
#pragma once

#include "application/training/train_options.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

void run_train(const TrainOptions&, const PlanOptions&);

}  // namespace pleat::cli
