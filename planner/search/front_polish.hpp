// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Better layouts for the plans of a front, so that it and the polished list beside it say the same.
#pragma once

#include "planner/search/front.hpp"

namespace pleat {

// Each of its plans gets a better layout with no more memory than it needs (layout_polish.hpp). `config`:
// of the front. Call put_into_front after.
void polish_front(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&, const Profile&,
                  const SearchConfig&, Front&);

// The front of its own plans and of those listed: fastest first, each with less memory than the one before
// by kFrontResolution at least, none off the first one's value by more than the slack. `gpu_bytes`: of a
// GPU's memory.
void put_into_front(const std::vector<Candidate>& listed, bool robust, double gpu_bytes, double slack,
                    Front&);

// The plan's place in a polished list of at most `most`, which keeps its counts: the plan is one of those
// that the search had counted. Nothing happens where it is listed.
void put_into_list(const Candidate&, std::size_t most, bool robust, double gpu_bytes, SearchResult&);

}  // namespace pleat
