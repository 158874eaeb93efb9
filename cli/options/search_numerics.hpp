// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats that a search chooses from.
#pragma once

#include "cli/options/search_request.hpp"

namespace pleat::cli {

// Every combination of the values that were given. ConfigError (bad_request) for words that name
// nothing and for more than kMostNumerics combinations. A precision that was not given is noted in
// `target.assumed`.
inline constexpr std::size_t kMostNumerics = 64;
[[nodiscard]] std::vector<Numerics> numerics_choices(const SearchOptions&, Target&);

}  // namespace pleat::cli
