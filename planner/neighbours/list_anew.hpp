// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The list of a result, chosen anew from its plans and others.
#pragma once

#include <vector>

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// Lists the plans that are really different, best first, of those listed and of `found`. What was
// found counts as enumerated: no search did that. `every`: all layouts of the last one were looked
// at.
void list_anew(const Problem&, const SearchConfig&, std::vector<Candidate> found, bool every,
               SearchResult&);

}  // namespace pleat
