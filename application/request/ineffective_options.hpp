// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Options without effect: of a plan beside its other options, and of a request that contradict one
// another or say something that nothing asks for.
#pragma once

#include <functional>
#include <string>

#include "application/request/plan_question.hpp"
#include "application/request/plan_words.hpp"
#include "core/plan/plan.hpp"

namespace pleat {

// ConfigError (bad_request) with all of them; `where` as for resolve_shape.
void refuse_ineffective_plan_options(const ShapeOptions&, const Plan&, const std::string& where);

// ConfigError (bad_request) with all of them. `is_given` knows whether an option of the command was
// typed, "--slack".
void refuse_ineffective_search_options(const FindPlanOptions&,
                                       const std::function<bool(const std::string&)>& is_given);

}  // namespace pleat
