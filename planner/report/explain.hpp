// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search result says: what is proven of it, why one plan is slower than another, and the
// whole as JSON.
#pragma once

#include <optional>
#include <string>

#include "core/json/json_value.hpp"
#include "planner/problem.hpp"
#include "planner/report/what_would_fit.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// Whether nothing is open: no plan of the space is faster, the best plan is one of them, and it has
// the best layout.
[[nodiscard]] bool is_proven(const SearchResult&);
// What the search proved, and what is open, in a line. `layout_gap`: how much of its step the best
// plan may lose to another layout (layout_gap_of).
[[nodiscard]] std::string certificate(const SearchResult&, double layout_gap = 0);
// What was tried outside of the space and what came of it, in a line; empty: nothing was.
[[nodiscard]] std::string neighbours_text(const SearchResult&);

// The precisions that a search chooses from: "bf16 or mxfp8".
[[nodiscard]] std::string precisions_text(const SearchConfig&);

// How much of its step the best plan may lose to another layout, which the search does not cover: 0
// where there is no choice, or none that is better.
[[nodiscard]] double layout_gap_of(const SearchResult&, const Problem&, const SearchConfig&);
// The same as a line without its end. Empty where there is no choice, or the certificate says it.
[[nodiscard]] std::string layout_certificate(const SearchResult&, double layout_gap);

// The whole as JSON. `changes`: what would make a plan fit, where nothing does. The time that the
// search took is left out, so that equal requests give equal bytes.
[[nodiscard]] JsonValue search_json(const SearchResult&, const Problem&, const SearchConfig&,
                                    const std::vector<FittingChange>& changes = {});

// Why `loser` is slower than `winner`, in words: the kinds of cost in which it loses the most time.
// `word` names a kind.
[[nodiscard]] std::string explain_difference(const Candidate& winner, const Candidate& loser,
                                             const char* (*word)(CostClass) = name_of);

// The plan's place in the list: 1 if it is at least as fast as the winner, empty if it is slower
// than all.
[[nodiscard]] std::optional<int> place_of(const StepEstimate&, const SearchResult&);

}  // namespace pleat
