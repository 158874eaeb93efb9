// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's arguments back to a model, a workload and a plan.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan_document.hpp"
#include "core/spec/model.hpp"
#include "interop/flag_table.hpp"

namespace pleat::interop {

struct ImportedRun {
  PlanDocument document;
  std::vector<std::string> assumed;  // what the arguments leave open, and what was taken
  std::vector<std::string> ignored;  // members that change the run and have no field
};

// `gpus` 0: the argument world_size, which logs print. `where` is the file's name. ConfigError
// (bad_file) names every argument that is missing or cannot be said in a plan.
[[nodiscard]] ImportedRun import_arguments(const Arguments&, int gpus, const std::string& where);

// The model that Megatron-LM's architecture arguments describe.

[[nodiscard]] ModelSpec read_megatron_model(const ArgumentReader&, ImportedRun&);

}  // namespace pleat::interop
