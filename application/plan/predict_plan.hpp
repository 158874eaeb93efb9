// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One plan priced: the request, its program and its estimate, on demand what bounds it.
#pragma once

#include <optional>
#include <string>

#include "application/explain/explain_plan.hpp"
#include "application/request/plan_words.hpp"
#include "application/target.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

struct PredictQuestion {
  PlanOptions plan;
  std::string tokens;    // to train on, "15T"; empty: not said
  bool explain = false;  // what bounds the step, what single changes would do
  int threads = 0;       // of the changes that are priced; 0: all cores
};

struct PredictedPlan {
  Request request;
  Program program;
  StepEstimate estimate;
  std::optional<double> tokens;
  std::optional<Explanation> why;
  std::string refusal;  // why the runtime does not run such a plan; empty: it does
};

// ConfigError for words that name nothing and for plans that break a rule.
[[nodiscard]] PredictedPlan predict_plan(const PredictQuestion&);

// The plan file, with its prediction.
[[nodiscard]] PlanDocument document_of(const PredictedPlan&);

}  // namespace pleat
