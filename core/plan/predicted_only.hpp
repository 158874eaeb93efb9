// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Techniques of a plan that Pleat's own executor runs with the same results, but without what makes
// them faster. The simulator prices them as they are meant; whoever runs the plan is told.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace pleat {

struct PredictedOnly {
  const char* path;  // of the plan's field
  std::string what;  // "the exchange deepep runs as the all-to-all"
};
[[nodiscard]] std::vector<PredictedOnly> predicted_only(const Plan&);

}  // namespace pleat
