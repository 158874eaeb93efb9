// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan in the words of another framework, with what it cannot be told.
#pragma once

#include <string>

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

}  // namespace pleat
