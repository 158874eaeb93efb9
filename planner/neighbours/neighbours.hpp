// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Faster plans outside of the space that was searched. A space holds few values of many fields.
// Here every field of a found plan is changed, and two together, as long as that makes it faster.
#pragma once

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

class KnownPrices;  // planner/search/plan_prices.hpp

// For a result whose layouts were polished. Puts the faster plans into the list, which is chosen
// anew, and says in `result.neighbours` what was tried and found. Number formats, pins, rules, and
// limits of memory hold. How much is tried is counted in estimates and slots
// (SearchConfig::neighbours); limits of time and estimates that the search has left hold as well.
// `known`: what is known of plans of this job; none: nothing.
void try_neighbours(const Problem&, const SearchConfig&, SearchResult&,
                    KnownPrices* known = nullptr);

}  // namespace pleat
