// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Makes a model, a workload and a plan from Megatron-LM's arguments.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan_document.hpp"
#include "core/spec/model.hpp"
#include "interop/flag_table.hpp"

namespace pleat::interop {

struct ImportedRun {
  PlanDocument document;
  std::vector<std::string> assumed;  // what the arguments leave open, and what was assumed
  std::vector<std::string> ignored;  // arguments that change the run, but that a plan cannot say
};

// With `gpus` 0 the argument world_size counts, which logs print. `where` is the name of the file.
// Throws ConfigError (bad_file), which names every argument that is missing or has a value that a
// plan cannot have.
[[nodiscard]] ImportedRun import_arguments(const Arguments&, int gpus, const std::string& where);

// The model that the arguments describe.
[[nodiscard]] ModelSpec read_megatron_model(const ArgumentReader&, ImportedRun&);
void read_positions(const ArgumentReader&, AttentionSpec&);  // its scaling of rotary positions

}  // namespace pleat::interop
