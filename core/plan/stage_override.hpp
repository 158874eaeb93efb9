// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans whose pipeline stages differ in what they recompute and offload: the plan of one stage.
#pragma once

#include "core/ids.hpp"
#include "core/plan/plan.hpp"

namespace pleat {

// What the plan says for all stages, as the override of one.
[[nodiscard]] StageOverride override_of(const Plan&, Stage);

// The plan in which all stages do what this one does. A stage is compiled and priced by it.
[[nodiscard]] Plan plan_of_stage(const Plan&, Stage);

}  // namespace pleat
