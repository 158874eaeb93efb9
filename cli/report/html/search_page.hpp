// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat plan --html`: the best plans and the search behind them.
#pragma once

#include "application/plan/recipes.hpp"
#include "cli/report/html/page.hpp"
#include "cli/report/sensitivity_report.hpp"
#include "core/trace/trace.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat::cli {

// Shows every candidate of `result.best`, which is not empty; `slots`: the first one's trace.
// `commands`: how the best plan is exported and run, a command a line.
[[nodiscard]] HtmlPage search_page(const Target&, const SearchConfig&, const SearchResult&,
                                   const std::vector<Recipe>&, const SensitivityAnswer&,
                                   const Trace& slots, const std::string& commands);

}  // namespace pleat::cli
