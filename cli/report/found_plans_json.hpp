// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The answer of `pleat plan` as JSON (docs/FORMATS.md, "Search").
#pragma once

#include "application/plan/predict_plan.hpp"
#include "application/plan/search_plans.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

// A plan was found.
[[nodiscard]] JsonValue found_plans_json(const FoundPlans&);

// The answer of `pleat predict` as JSON (docs/FORMATS.md, "Estimate").
[[nodiscard]] JsonValue predicted_plan_json(const PredictedPlan&);

}  // namespace pleat::cli
