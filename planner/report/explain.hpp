// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A search result as a table for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>

#include "planner/search/search.hpp"
#include "planner/report/shortfall.hpp"

namespace pleat {

// What the search proved, in a line.
[[nodiscard]] std::string certificate(const SearchResult&);

// The best plans, where each loses against the first, and what was rejected by which rule.
// The precisions that a search chooses from: "bf16 or mxfp8".
[[nodiscard]] std::string precisions_text(const SearchConfig&);

[[nodiscard]] std::string print_search(const SearchResult&, const ModelSpec&, const ClusterSpec&,
                                       const WorkloadSpec&, const Profile&, const SearchConfig&);

// The same facts; `changes` are those of a search in which nothing fits. Does not contain the
// seconds the search took: equal requests give equal bytes.
[[nodiscard]] std::string search_json(const SearchResult&, const ModelSpec&, const ClusterSpec&,
                                      const WorkloadSpec&, const Profile&, const SearchConfig&,
                                      const std::vector<FittingChange>& changes = {});

// 1 for a plan at least as fast as the winner; empty when it is slower than all that were kept.
[[nodiscard]] std::optional<int> place_of(const StepEstimate&, const SearchResult&);

}  // namespace pleat
