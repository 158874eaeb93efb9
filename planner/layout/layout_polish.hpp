// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Better layouts for plans that a search has found. The search itself tries up to three layouts for
// each number of stages (layout_choices in space/mesh_space.hpp).
#pragma once

#include "planner/layout/layout_search.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

class KnownPrices;  // planner/search/plan_prices.hpp

// With one chunk a rank: the best of all layouts (layout_search.hpp). With several chunks, or too
// many layouts: steepest descent, from the plan's own layout and from balanced ones. Each
// step moves one layer off the busiest pipeline rank, the move that lowers the value (value_of)
// most; if none does and there are few stages, moves between any two stages are tried in turn. The
// plan stays valid and within the memory that the config allows. `known`: what is known of plans of
// this job, here and below; none: nothing.
[[nodiscard]] FoundLayout polish_layout(const Problem&, const SearchConfig&, Candidate,
                                        KnownPrices* known = nullptr);

// Polishes the best plans and the spares of a result, and chooses the list of best plans anew from
// all of them. The first plan then gets the best layout that chunk_layouts.hpp finds. The new
// layouts are not in the space that was searched, so the result's bound is lowered to the best plan
// where that is faster.
void polish_layouts(const Problem&, const SearchConfig&, SearchResult&,
                    KnownPrices* known = nullptr);

}  // namespace pleat
