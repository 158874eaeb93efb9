// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan in the words of another framework, with what it cannot be told.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan_document.hpp"
#include "interop/exported.hpp"

namespace pleat {

struct ExportedPlan {
  std::string target;  // "megatron"
  interop::Exported exported;
  std::string text;  // the configuration or the script
};

// `file` is what messages call the document. ConfigError for a plan that breaks a rule, or that the
// framework cannot run.
[[nodiscard]] ExportedPlan export_document(const std::string& target, const PlanDocument&,
                                           const std::string& file);
// Settings, environment, what has no counterpart; and a newline.
[[nodiscard]] std::string exported_json(const ExportedPlan&);
// "no counterpart: plan.fp8_attention = true: no flag"
[[nodiscard]] std::string remark_text(const interop::Remark&);

// Names of frameworks as they are typed, and the facts about hardware that an export needs.

// "megatron", "megatron-bridge", "torchtitan", "deepspeed".
[[nodiscard]] const std::vector<std::string>& target_names();
[[nodiscard]] interop::Target parse_target(const std::string& name);  // one of target_names()

// The plan of a file, its rules checked.
[[nodiscard]] PlanDocument load_plan_document(const std::string& file);

// Tensor cores with FP4 came with compute capability 10. True too for a cluster that is not known.
[[nodiscard]] bool is_before_blackwell(const std::string& cluster);

// "deepseek-v3 on 256 x gb300-nvl72: TP1 …", one line.
[[nodiscard]] std::string plan_title(const PlanDocument&);

}  // namespace pleat
