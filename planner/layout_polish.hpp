// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Better layouts for found plans. A search tries two layouts for each number of stages, the even one and the
// one with balanced FLOPs; here single layers move between stages as long as that helps.
#pragma once

#include "planner/search.hpp"

namespace pleat {

// Steepest descent: the layer whose move off the busiest pipeline rank lowers the value (value_of) most, or
// if none does and there are few stages, between any two of them. The plan stays valid and within the memory that the search allowed.
[[nodiscard]] Candidate polish_layout(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                      const Profile&, const SearchConfig&, Candidate);

// All of the result's best plans, in order of their new values. They are outside of the space that
// was searched: its bound goes no higher than the best of them.
void polish_layouts(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&, const Profile&,
                    const SearchConfig&, SearchResult&);

}  // namespace pleat
