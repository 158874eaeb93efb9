// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The program of a plan, printed: one stage, or one decoder layer of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/plan_options.hpp"

namespace pleat::cli {

struct ProgramOptions {
  PlanOptions plan;
  std::optional<std::int64_t> layer;  // decoder layer; the stage that holds it is found
  std::optional<int> stage;           // default: the first
  bool json = false;
};

// `pleat program`: --cluster, --gpus, --seq-len and --global-batch have defaults here, as the
// program depends on the cluster not at all and on the others little.
void show_program(const ProgramOptions&);

}  // namespace pleat::cli
