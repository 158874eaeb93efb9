// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Makes a model, a workload and a plan from Megatron-LM's arguments.
#pragma once

#include <optional>
#include <set>
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
  std::set<std::string> asked;       // members that were looked for
};

// What the arguments do not say, or somebody knows better.
struct ImportChoices {
  int gpus = 0;                    // 0: the argument world_size, which logs print
  std::int64_t vocab = 0;          // 0: the arguments', else the tokenizer's
  std::optional<ModelSpec> model;  // in place of the arguments'
  std::int64_t seq_len = 0;        // of files that do not say it
};

// `where` is the name of the file.
// Throws ConfigError (bad_file), which names every argument that is missing or has a value that a
// plan cannot have.
[[nodiscard]] ImportedRun import_arguments(const Arguments&, const ImportChoices&,
                                           const std::string& where);
[[nodiscard]] ImportedRun import_arguments(const Arguments&, int gpus, const std::string& where);

// The model that the arguments describe.
[[nodiscard]] ModelSpec read_megatron_model(const ArgumentReader&, const ImportChoices&,
                                            ImportedRun&);
void read_positions(const ArgumentReader&, AttentionSpec&);  // its scaling of rotary positions

}  // namespace pleat::interop
