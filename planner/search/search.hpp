// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search for the best valid plans under the model, over all number formats that are asked for.
#pragma once

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

class KnownPrices;  // plan_prices.hpp

// `known`: what searches of the same job found out before this one; none: nothing.
[[nodiscard]] SearchResult search(const Problem&, const SearchConfig&,
                                  KnownPrices* known = nullptr);

}  // namespace pleat
