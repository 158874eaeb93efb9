// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Options of a plan that have no effect beside its other options.
#pragma once

#include <string>

#include "application/request/plan_words.hpp"
#include "core/plan/plan.hpp"

namespace pleat {

// ConfigError (bad_request) with all of them; `where` as for resolve_shape.
void refuse_ineffective_plan_options(const ShapeOptions&, const Plan&, const std::string& where);

}  // namespace pleat
