// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a plan was weighed against: other sizes, step time against memory, fewer GPUs.
#pragma once

#include <string>

#include "core/json/json_value.hpp"
#include "planner/plan.hpp"

namespace pleat::cli {

// Tables in so many columns, each after an empty line. Nothing: empty.
[[nodiscard]] std::string alternatives_text(const PlanAnswer&, const Problem&, double slack,
                                            std::size_t columns);

// That fewer GPUs would be faster; only where there are such.
[[nodiscard]] std::string hint_text(const PlanAnswer&, const Problem&);

// Sets "sizes", "front" with what is proven of it, and "hint", as far as there are such.
void set_alternatives(const PlanAnswer&, const Problem&, JsonValue& document);

}  // namespace pleat::cli
