// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The options that name a model, a cluster, a workload and a plan, shared by the commands that need
// one.
#pragma once

#include <CLI/App.hpp>

#include "application/request/plan_words.hpp"

namespace pleat::cli {

void add_target_options(CLI::App&, TargetOptions&);
void add_shape_options(CLI::App&, ShapeOptions&);
void add_plan_options(CLI::App&, PlanOptions&);  // both, and --plan FILE

}  // namespace pleat::cli
