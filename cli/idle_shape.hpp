// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Options of a plan that would change nothing but its name.
#pragma once

#include <string>

#include "cli/plan_options.hpp"
#include "core/plan/plan.hpp"

namespace pleat::cli {

// Precisions with narrow operands: those that --fp8-attention and --fp8-head say something to.
[[nodiscard]] bool has_narrow_operands(Precision);

// ConfigError (bad_request) with all of them; `where` as for resolve_shape.
void refuse_idle_shape(const ShapeOptions&, const Plan&, const std::string& where);

}  // namespace pleat::cli
