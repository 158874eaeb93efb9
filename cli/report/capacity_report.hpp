// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A capacity answer for people.
#pragma once

#include <string>

#include "planner/capacity/answer.hpp"

namespace pleat::cli {

// The offers in a table, the recommended ones in detail, what matters most, prices and assumptions.
[[nodiscard]] std::string capacity_text(const CapacityAnswer&);

// One paragraph: what misses the goals by how much, and what would do.
[[nodiscard]] std::string misses_text(const CapacityAnswer&);

}  // namespace pleat::cli
