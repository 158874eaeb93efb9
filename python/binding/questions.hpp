// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Arguments from Python as the questions of the application: the words that the options of the
// command line would have brought. ConfigError and TypeError as in given.hpp.
#pragma once

#include "application/plan/predict_plan.hpp"
#include "application/request/capacity_request.hpp"
#include "application/request/plan_question.hpp"
#include "application/validate/published_runs.hpp"
#include "python/binding/given.hpp"

namespace pleat::python {

void take_target(Given&, TargetOptions&);
void take_shape(Given&, ShapeOptions&);

[[nodiscard]] PredictQuestion predict_question(const nanobind::dict&);
[[nodiscard]] FindPlanOptions plan_question(const nanobind::dict&);
[[nodiscard]] CapacityOptions capacity_question(const nanobind::dict&);
[[nodiscard]] ValidateQuestion validate_question(const nanobind::dict&);

// What a plan may be given, with the kind of each: "number", "share", "word" or "switch".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> plan_arguments();
// What a search may be given beside its goal and its limits: numerics, then pins.
[[nodiscard]] std::vector<std::string> search_arguments();

}  // namespace pleat::python
