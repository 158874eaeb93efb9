// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/stage_override.hpp"

#include <algorithm>

#include "core/plan/plan_table.hpp"

namespace pleat {

StageOverride override_of(const Plan& plan, Stage stage) {
  StageOverride own{.stage = stage.value, .recompute = {}, .offload = {}};
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.by_stage != nullptr) own.*field.by_stage = field.in(plan);
  });
  return own;
}

Plan plan_of_stage(const Plan& plan, Stage stage) {
  Plan own = plan;
  own.stages.clear();
  const auto found = std::ranges::find(plan.stages, stage.value, &StageOverride::stage);
  if (found == plan.stages.end()) return own;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.by_stage != nullptr) field.in(own) = (*found).*field.by_stage;
  });
  return own;
}

}  // namespace pleat
