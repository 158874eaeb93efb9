// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The fastest of all contiguous layouts of a plan whose pipeline ranks hold several chunks each.
//
// Goes through the virtual stages depth first, and tries numbers of layers close to the given
// plan's first. A partial layout is bounded by the paths of critical_path_bound.hpp: the layers
// placed so far count where they lie, the others where they cost the least on the stages left. Only
// layouts whose bound stays below the best known step are priced.
#pragma once

#include "planner/layout/layout_search.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// For 1F1B with several stages. `from` must be valid and fit. `every` in the result: all layouts
// that the rules allow were covered, and none that fits is faster at the burst clock. Otherwise the
// search stopped at its limit of nodes or estimates.
[[nodiscard]] FoundLayout best_chunk_layout(const Problem&, const SearchConfig&,
                                            const MemoryLimits&, Candidate from);

}  // namespace pleat
