// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan for searches that are cut off where little fits: looks for plans that use little memory.
#pragma once

#include <optional>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// Tries a sample of the meshes, each with one setting and up to three memory choices: nothing
// saved, everything recomputed, and also the optimizer state in host memory. Meshes whose weights,
// gradients and optimizer state fill less than half of `usable` bytes come first, by their bounds
// of time; then the others, by the size of that state. Returns the best of the first few plans that
// fit; the same at any number of threads.
[[nodiscard]] std::optional<Candidate> fallback_by_memory(const PlanTree&, NodeOpener&, Workers&,
                                                std::int64_t usable, std::int64_t& priced);

}  // namespace pleat
