// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The fastest of all contiguous layouts of a plan whose pipeline ranks hold several chunks each.
//
// Depth first over the virtual stages, each with the numbers of layers next to the given plan's first.
// Of a layout that is begun the paths that bound every placement (path_bound.hpp) count what is placed,
// and the rest where it counts least on the stages to come; only what stays below the best step known
// is priced.
#pragma once

#include "planner/layout/layout_search.hpp"

namespace pleat {

// 1F1B of several stages. `from` must be valid and fit; `every`: no layout of the plan that the rules
// allow and that fits is faster at the burst clock, and none was left out: else it stopped after so
// many nodes or estimates.
[[nodiscard]] FoundLayout best_chunk_layout(const ModelSpec&, const ClusterSpec&,
                                            const WorkloadSpec&, const Profile&,
                                            const SearchConfig&, const MemoryLimits&, Candidate from);

}  // namespace pleat
