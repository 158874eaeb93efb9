// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What became of the plans of a search, in words: JSON names the same counters by one word each
// (docs/SEARCH.md).
#pragma once

#include <string>
#include <string_view>

#include "console/terminal.hpp"
#include "planner/search_result.hpp"

namespace pleat::cli {

// "cannot be faster than …" for "time-bound": what plans of this counter are or do. Empty for a
// name that has no words.
[[nodiscard]] std::string_view words_for_counter(std::string_view name);

// How many plans there are, how many were priced, and what became of the others; most first.
[[nodiscard]] std::string counters_text(const SearchResult&, const Terminal&);

// What was not tried, and why.
[[nodiscard]] std::string not_tried_text(const SearchResult&, const Terminal&);

}  // namespace pleat::cli
