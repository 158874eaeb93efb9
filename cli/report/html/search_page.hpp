// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat plan --html`: the best plans and the search behind them.
#pragma once

#include "cli/report/html/page.hpp"
#include "cli/report/sensitivity_report.hpp"
#include "application/plan/recipes.hpp"
#include "core/trace/trace.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat::cli {

// Shows every candidate of `result.best`, which is not empty; `slots`: the first one's trace.
[[nodiscard]] HtmlPage search_page(const Target&, const SearchConfig&, const SearchResult&,
                                   const std::vector<Recipe>&, const SensitivityAnswer&,
                                   const Trace& slots);

}  // namespace pleat::cli
