// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Better layouts for the plans of a front, and agreement between the front and the list of best
// plans.
#pragma once

#include "planner/problem.hpp"
#include "planner/search/front.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

class KnownPrices;  // plan_prices.hpp

// Gives each plan of the front the best layout that needs no more memory than it has now
// (layout_polish.hpp). `config` is the one the front was made with. The plans may then be out of
// order: call put_into_front.
// `known`: as for polish_layout.
void polish_front(const Problem&, const SearchConfig&, Front&, KnownPrices* known = nullptr);

// Makes the front anew from its own plans and the listed ones, by the rules of Front::plans.
// `gpu_bytes` is a GPU's memory.
void put_into_front(const std::vector<Candidate>& listed, bool robust, double gpu_bytes,
                    double slack, Front&);

// Puts the plan into a list of at most `most` plans, unless it is listed. The search has counted
// the plan as rejected before, so that one count goes down.
void put_into_list(const Candidate&, std::size_t most, bool robust, double gpu_bytes,
                   SearchResult&);

}  // namespace pleat
