// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Some plan that fits, soon: best-first search has none for long where little fits.
#pragma once

#include <optional>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {

// Tries a setting and up to three memory choices (nothing given up, all recomputed, all recomputed
// with the optimizer's state in host memory) of a sample of the meshes: first of those whose state
// leaves half of `usable` (bytes) free the ones with the smallest bounds, then those with the least
// state. The best of the first few that fit; the same at any number of threads.
[[nodiscard]] std::optional<Candidate> any_plan(const PlanTree&, NodeOpener&, Workers&,
                                                std::int64_t usable, std::int64_t& priced);

}  // namespace pleat
