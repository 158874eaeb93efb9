// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A search result as a table for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>

#include "core/json/json_value.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"
#include "planner/report/what_would_fit.hpp"

namespace pleat {

// What the search proved, in a line.
[[nodiscard]] std::string certificate(const SearchResult&);

// The precisions that a search chooses from: "bf16 or mxfp8".
[[nodiscard]] std::string precisions_text(const SearchConfig&);

// The best plans, where each loses against the first, and what was rejected by which rule.
[[nodiscard]] std::string print_search(const SearchResult&, const Problem&, const SearchConfig&);

// The same facts; `changes` are those of a search in which nothing fits. Does not contain the
// seconds the search took: equal requests give equal bytes.
[[nodiscard]] JsonValue search_json(const SearchResult&, const Problem&, const SearchConfig&,
                                    const std::vector<FittingChange>& changes = {});

// Why `loser` is slower than `winner`: the rubrics where it loses most, in words.
[[nodiscard]] std::string explain_difference(const Candidate& winner, const Candidate& loser);

// 1 for a plan at least as fast as the winner; empty when it is slower than all that were kept.
[[nodiscard]] std::optional<int> place_of(const StepEstimate&, const SearchResult&);

}  // namespace pleat
