// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What no layout of a plan goes below: the search's space has two layouts for each number of stages,
// and layout_polish moves single layers of found plans.
#pragma once

#include "planner/search.hpp"

namespace pleat {

// No contiguous layout of the plan's layers over its stages gives a shorter step, whatever its memory.
// Stage s of 1F1B has the first microbatch come through the stages before it, runs all microbatches,
// and lets the last one go back: with W the time of a stage's layers, at least sum(W_0 … W_{s-1}) + m
// W_s. A dynamic programme over the stages finds the partition whose largest such sum is least. With
// chunks or split backward passes: the work of all layers over the stages. At the burst clock; a plan
// that recomputes only some layers counts as one that recomputes none.
[[nodiscard]] Seconds layout_bound(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                   const Profile&, const SearchConfig&, const Plan&);

}  // namespace pleat
