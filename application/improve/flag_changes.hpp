// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What tells two plans apart in the words of Megatron-LM.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan_document.hpp"

namespace pleat {

struct FlagChange {
  std::string flag;                 // "--micro-batch-size"
  std::vector<std::string> before;  // values
  std::vector<std::string> after;
  bool was_given = false, is_given = false;  // a switch has no values
  bool operator==(const FlagChange&) const = default;
};

// Flags whose values differ, by name. Whether Megatron-LM runs either plan does not matter.
[[nodiscard]] std::vector<FlagChange> flag_changes(const PlanDocument& before,
                                                   const PlanDocument& after);
[[nodiscard]] std::string to_text(const FlagChange&);  // "--micro-batch-size 1 -> 2"

// What a change from one plan to another asks for beside its flags, or may do.
[[nodiscard]] std::vector<std::string> change_risks(const Plan& before, const Plan& after);

}  // namespace pleat
