// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The answer of `pleat predict` as JSON (docs/FORMATS.md, "Estimate").
#pragma once

#include "application/plan/predict_plan.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

[[nodiscard]] JsonValue predicted_plan_json(const PredictedPlan&);

}  // namespace pleat::cli
