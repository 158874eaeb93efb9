// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans whose pipeline stages each choose their own recompute and offload. Finds the combination of
// choices with the shortest step among all that fit.
//
// A stage's memory depends only on its own choice, and a step never gets shorter when a slot or a
// step operation gets longer. So a choice can be dropped if it does not fit, or if another one is
// no worse in every slot, every step operation and host memory. Mostly one choice is left for a
// stage. The combinations of what is left are searched depth first; the bound takes the smallest of
// each entry for the stages not yet decided. Choices that cannot fit a stage, or with which no plan
// is within the cutoff, are left out by bounds before they are priced
// (bounds/one_choice_bounds.hpp).
#pragma once

#include <limits>

#include "planner/bounds/bounds.hpp"
#include "planner/space/plan_tree.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

struct ChosenByStage {
  bool fits = false;  // a combination fits that is better than the same choice for all stages
  // If not, why: "memory", "host-memory" or "no-effect"; null: what fits takes `left_out` at least,
  // which is above the cutoff.
  const char* rule = nullptr;
  // What combinations with a choice that was left out for its time take at least. Infinite: none
  // was left out.
  Seconds left_out{std::numeric_limits<double>::infinity()};
  std::int64_t least_peak = 0;      // with "memory": bytes that the fullest stage needs at least
  std::vector<StageOverride>
      stages;  // relative to the plan without recompute and offload of activations
  std::int64_t compiled = 0;  // choices whose stages were compiled; each takes as long as a plan
  bool cut = false;                 // too many combinations: a better one may exist
};

// For the mesh and setting of `node`, whose memory choice is by stage. Like the search, it does not
// try a choice for a stage that fits with less (MemoryTree::below). Steps are compared at the burst
// clock. `usable` is bytes of a GPU, `host` bytes of a node (0: unlimited).
[[nodiscard]] ChosenByStage choose_by_stage(const PlanTree&, const Estimator&, BoundTable&,
                                            const Node& node, Seconds cutoff, std::int64_t usable,
                                            std::int64_t host, int gpus_per_node);

}  // namespace pleat
