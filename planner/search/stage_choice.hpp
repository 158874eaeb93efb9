// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan whose pipeline stages each choose what they recompute and offload: of all ways that fit, the
// one with the shortest step.
//
// A stage's memory depends on its own choice alone, and no step is shorter where some slot or step
// operation takes longer. So of a stage's choices only those count that fit and that no other one
// beats in every slot, every step operation and host memory: mostly one. What is left is searched
// depth first, with the least of each entry for the stages to come as the bound.
#pragma once

#include "planner/space/plan_tree.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

struct ChosenByStage {
  bool fits = false;     // some way does, and differs between stages for the better
  const char* rule = nullptr;       // else why not: "memory", "host-memory" or "moot"
  std::int64_t least_peak = 0;      // bytes; of "memory": what the fullest stage needs at least
  std::vector<StageOverride> stages;  // on top of the state's plan without recompute and offload
  bool cut = false;                 // too many ways: a better one may be left
};

// Of the mesh and setting of `node`, whose memory choice is by stage. A choice that the search would
// not try because its stage fits with less is not tried here either (MemoryTree::below). Steps are
// compared at the burst clock. `usable`: bytes of a GPU; `host`: of a node, 0: any.
[[nodiscard]] ChosenByStage choose_by_stage(const PlanTree&, const Estimator&, const Node& node,
                                            std::int64_t usable, std::int64_t host,
                                            int gpus_per_node);

}  // namespace pleat
