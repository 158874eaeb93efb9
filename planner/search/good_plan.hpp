// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A good plan, soon: for searches that a limit ends before they have priced any.
#pragma once

#include <optional>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {

// Of a sample of the meshes those with the smallest bounds, with the memory choices that fit them
// and usual techniques; then the best one's techniques, by bounds. Nothing where none of what it
// prices fits; the same at any number of threads. `usable`: bytes of a GPU. Adds to `priced` what it prices.
[[nodiscard]] std::optional<Candidate> good_plan(const PlanTree&, NodeOpener&, Workers&,
                                                 std::int64_t usable, std::int64_t& priced);

// The first setting of the node's mesh that is sharded, valid and no other's repetition; where no
// sharded one is valid, another; -1: none is.
[[nodiscard]] std::int16_t usual_setting(const PlanTree&, Node);

}  // namespace pleat
