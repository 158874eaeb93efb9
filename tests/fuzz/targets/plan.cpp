// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plan files. An accepted plan is written and read again to the same plan, and every rule is asked.
#include "core/plan/constraints.hpp"
#include "core/plan/plan_document.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const PlanDocument plan = read_plan_document(std::string(input), "plan.json");
  const std::string written = write_plan_document(plan);
  require(read_plan_document(written, "again.json") == plan, "a plan that is not read as written");
  (void)violations({plan.model, plan.workload, plan.plan, plan.gpus});
}

}  // namespace pleat::fuzz
