// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What tells two plans apart in the words of a framework.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan_document.hpp"
#include "interop/exported.hpp"

namespace pleat {

struct FlagChange {
  std::string flag;                 // "--micro-batch-size", "zero_optimization.stage"
  std::vector<std::string> before;  // values
  std::vector<std::string> after;
  bool was_given = false, is_given = false;  // a switch has no values
  bool operator==(const FlagChange&) const = default;
};

// Flags whose values differ, by name. Whether the framework runs either plan does not matter.
[[nodiscard]] std::vector<FlagChange> flag_changes(const PlanDocument& before,
                                                   const PlanDocument& after,
                                                   interop::Target = interop::Target::megatron);
[[nodiscard]] std::string to_text(const FlagChange&);  // "--micro-batch-size 1 -> 2"

// What a change from one plan to another asks for beside its flags, or may do.
[[nodiscard]] std::vector<std::string> change_risks(const Plan& before, const Plan& after,
                                                    interop::Target = interop::Target::megatron);

}  // namespace pleat
