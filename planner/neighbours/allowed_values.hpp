// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whether a request allows a plan: its pins, what the runtime has, what the hardware has, and what
// is tried only if asked for. The rules of plans are not among them.
#pragma once

#include "core/plan/plan.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// Of the fields that a search chooses; number formats and fields that no search chooses are not
// looked at.
[[nodiscard]] bool allows(const Problem&, const SearchConfig&, const Plan&);

// Whether changes may choose the dispatcher where none is pinned: the runtime and the hardware have
// it.
[[nodiscard]] bool has_dispatcher(const Problem&, Runtime, Dispatcher);

// Whether the optimizer's state may lie in host memory and come back for the step. For Megatron
// only if it is asked for: its main branch has it not.
[[nodiscard]] bool state_may_come_back(const SearchConfig&);

}  // namespace pleat
