// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search for given number formats.
#pragma once

#include "planner/search.hpp"

namespace pleat {

inline constexpr std::size_t kNearestKept = 3;  // plans, when nothing fits

// As search; `config` must name one numerics.
[[nodiscard]] SearchResult search_fixed_numerics(const ModelSpec&, const ClusterSpec&,
                                                 const WorkloadSpec&, const Profile&,
                                                 const SearchConfig&);

}  // namespace pleat
