// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many of which GPUs to book: the best plan of every cluster and size, and what it takes.
#pragma once

#include "application/capacity/capacity_question.hpp"
#include "application/work_hooks.hpp"
#include "planner/capacity/answer.hpp"

namespace pleat {

// Where the hooks end it early the answer has what was found until then, and is not `complete`.
[[nodiscard]] CapacityAnswer find_capacity(const CapacityQuestion&, int threads, const WorkHooks&);

}  // namespace pleat
