// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats of a search's best plan, and what published ones would gain, as text and as
// JSON.
#pragma once

#include <string>

#include "application/plan/numerics_answer.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

// Empty where the runtime's formats were asked for and no recipe gains.
[[nodiscard]] std::string numerics_text(const NumericsAnswer&);
[[nodiscard]] JsonValue numerics_json(const NumericsAnswer&);

}  // namespace pleat::cli
