// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A search for what a plan file was made for: its model, cluster, GPUs, workload and number
// formats, where no flag says otherwise.
#pragma once

#include "application/request/plan_question.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {

struct SearchedPlan {
  Target target;
  NumericsRequest numerics;  // the question's; the file's formats where it names none
  PlanDocument document;     // on the target's GPUs
};

// ConfigError: a file that is no plan, flags that contradict it (verification), other GPUs that its
// degrees do not fit, a workload that its plan breaks a rule with.
[[nodiscard]] SearchedPlan searched_plan(const FindPlanOptions&);

}  // namespace pleat
