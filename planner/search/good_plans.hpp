// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Good plans without a search: a search that knows them leaves out early what is slower, and one
// that is cut off before it has found a plan answers with the best of them.
#pragma once

#include <vector>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search_result.hpp"

namespace pleat {

struct GoodPlan {
  Node node;  // of one mesh
  StepEstimate estimate;
};

// Plans that fit in `usable` bytes of a GPU, the best one (value_of) of each mesh
// (PlanTree::same_mesh) that was tried, best first; none where none of those priced fits. Takes the
// meshes with the smallest bounds of a sample, with a usual setting and the memory choices that fit
// by their bounds, and as many with the smallest bounds of a choice that fits; tries the settings
// of the best one, and those that did best there, with each of the `many` best meshes; then chooses
// their memory again. The same at any number of threads. Adds the number of priced plans to
// `priced`.
[[nodiscard]] std::vector<GoodPlan> good_plans(const PlanTree&, NodeOpener&, Workers&,
                                               std::int64_t usable, std::size_t many,
                                               std::int64_t& priced);

// The first setting with sharded optimizer state that is valid on the node's mesh and repeats no
// other, else the first such setting without; -1 if there is none.
[[nodiscard]] std::int16_t usual_setting(const PlanTree&, Node);

}  // namespace pleat
