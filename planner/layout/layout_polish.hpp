// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Better layouts for found plans. A search tries two layouts for each number of stages, the even one and
// the one with balanced FLOPs; here the plans that it found get the best one that theirs can have.
#pragma once

#include "planner/layout/layout_search.hpp"
#include "planner/search/search.hpp"

namespace pleat {

// Of ranks with one chunk the best of all layouts (layout_search.hpp). Else, and where these are too
// many, steepest descent: the layer whose move off the busiest pipeline rank lowers the value (value_of)
// most, or if none does and there are few stages, between any two of them. The plan stays valid and within
// the memory that the search allowed.
[[nodiscard]] FoundLayout polish_layout(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                        const Profile&, const SearchConfig&, Candidate);

// All of the result's best plans and spares; of these the best again, different ones, in order of
// their new values; the first of them then gets the best layout that chunk_layouts.hpp finds. They are
// outside of the space that was searched: its bound goes no higher than the best of them.
void polish_layouts(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&, const Profile&,
                    const SearchConfig&, SearchResult&);

}  // namespace pleat
