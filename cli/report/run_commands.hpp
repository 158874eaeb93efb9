// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The commands that write a plan's file, export it and run it.
#pragma once

#include <string>

#include "application/request/plan_words.hpp"
#include "application/target.hpp"

namespace pleat::cli {

// One a line: `pleat predict` with every option of the plan and --out, then export and job file, or
// training. `plan_file`: where the plan stands already; empty: nowhere. A plan that cannot be typed
// has a line that says so.
[[nodiscard]] std::string run_commands(const TargetOptions& asked, const Target&, const Plan&,
                                       const std::string& plan_file);

// The lines behind the plan file.
[[nodiscard]] std::string export_commands(Runtime, const std::string& plan_file);

}  // namespace pleat::cli
