// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan for searches that are cut off before they have found one: looks for plans that are fast.
#pragma once

#include <optional>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// Takes the meshes with the smallest bounds of a sample, with a usual setting and the memory
// choices that fit, and prices some; then varies the settings of the best one, in the order of
// their bounds. Nothing if none of the priced plans fits in `usable` bytes of a GPU. The same at
// any number of threads. Adds the number of priced plans to `priced`.
[[nodiscard]] std::optional<Candidate> fallback_by_time(const PlanTree&, NodeOpener&, Workers&,
                                                 std::int64_t usable, std::int64_t& priced);

// The first setting with sharded optimizer state that is valid on the node's mesh and repeats no
// other, else the first such setting without; -1 if there is none.
[[nodiscard]] std::int16_t usual_setting(const PlanTree&, Node);

}  // namespace pleat
