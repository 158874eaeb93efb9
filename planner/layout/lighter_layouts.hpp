// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layouts that need less memory. Polishing (layout_polish.hpp) keeps the modules that a plan
// recomputes and offloads; a layout that is a little slower with these may fit with fewer of them,
// and then be the faster one.
#pragma once

#include <vector>

#include "planner/problem.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// The plan with one layer less on the pipeline rank that needs most memory, and one more on one of
// the ranks that are the least busy; and with layers shifted from the first chunks of ranks to
// their last ones. Few of them. Some may break rules; none without a pipeline.
[[nodiscard]] std::vector<Plan> lighter_layouts(const Problem&, const Candidate&);

}  // namespace pleat
