// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/stage_override.hpp"

#include <algorithm>

namespace pleat {

StageOverride override_of(const Plan& plan, Stage stage) {
  return {.stage = stage.value,
          .recompute = plan.recompute,
          .recompute_full = plan.recompute_full,
          .recompute_layers = plan.recompute_layers,
          .recompute_unit = plan.recompute_unit,
          .offload = plan.offload};
}

Plan plan_of_stage(const Plan& plan, Stage stage) {
  Plan own = plan;
  own.stages.clear();
  const auto found = std::ranges::find(plan.stages, stage.value, &StageOverride::stage);
  if (found == plan.stages.end()) return own;
  own.recompute = found->recompute;
  own.recompute_full = found->recompute_full;
  own.recompute_layers = found->recompute_layers;
  own.recompute_unit = found->recompute_unit;
  own.offload = found->offload;
  return own;
}

}  // namespace pleat
