// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan as it is typed: the words after `pleat predict` that give it again.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace pleat {

// "--tp", "2", "--recompute", "mlp" …: what differs from a plain plan, and the precision. The
// degrees that follow from the number of GPUs are not among them.
[[nodiscard]] std::vector<std::string> typed_shape(const Plan&);

// Units of layers that single stages recompute cannot be typed.
[[nodiscard]] bool can_be_typed(const Plan&);

}  // namespace pleat
