// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Meshes that good plans are looked for on (good_plans.hpp), each with settings, by their bounds.
#pragma once

#include <vector>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {

// A node of the level of settings, of one mesh.
struct BoundedNode {
  Node node;
  PlanBounds bounds;
};

// Shortest step first.
void sort_by_time(std::vector<BoundedNode>&);
// Of nodes in this order the first `of_mesh` of each mesh, and the first `of_degrees` of all meshes
// of the same degrees: those of one mesh could be all there are.
[[nodiscard]] std::vector<BoundedNode> some_of_each(const PlanTree&,
                                                    const std::vector<BoundedNode>& sorted,
                                                    int of_mesh, int of_degrees);

[[nodiscard]] Node setting_node(std::int32_t mesh, std::int16_t setting, std::int16_t memory);
// Whether the setting means something else on the mesh than the settings before it.
[[nodiscard]] bool useful_setting(const PlanTree&, std::int16_t setting, const Mesh&);
// Whether the node's plan breaks no rule and is not by stage.
[[nodiscard]] bool valid_plan(const PlanTree&, const Node&);
// The first setting with sharded optimizer state that is valid on the mesh and repeats no other,
// else the first such setting without; -1 if there is none.
[[nodiscard]] std::int16_t usual_setting(const PlanTree&, std::int32_t mesh);

class SampledMeshes {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  SampledMeshes(const PlanTree&, NodeOpener&, Workers&, std::int64_t usable);

  // Those with the smallest bounds of a sample of `meshes` (their indices) whose state fits,
  // fastest first, few of the same degrees. Each with the first of `settings` that it makes use of,
  // else its usual one, and the bound of its family.
  [[nodiscard]] std::vector<BoundedNode> with_usual_settings(
      const std::vector<std::int32_t>& meshes, const std::vector<std::int16_t>& settings) const;
  // The same with the settings that overlap exchanges best, going by the bounds of their own
  // layers, and without a pipeline one for each way to shard. It takes some ten times as long.
  [[nodiscard]] std::vector<BoundedNode> with_own_settings(
      const std::vector<std::int32_t>& meshes, const std::vector<std::int16_t>& settings) const;

  // Of these nodes those with a memory choice that fits, with the smallest bound of one; `own`:
  // of the setting's own layers.
  [[nodiscard]] std::vector<BoundedNode> by_what_fits(std::vector<BoundedNode>, bool own) const;

  [[nodiscard]] std::vector<std::int32_t> all() const;
  // Those that differ from one of these in at most two of TP, CP, PP, ETP, EP, chunks and
  // microbatch, and run in the same order.
  [[nodiscard]] std::vector<std::int32_t> near(const std::vector<Node>&) const;

 private:
  [[nodiscard]] std::vector<Node> fastest(const std::vector<std::int32_t>& meshes,
                                          const std::vector<std::int16_t>& settings) const;
  [[nodiscard]] std::int16_t setting_of(std::int32_t mesh,
                                        const std::vector<std::int16_t>& settings) const;
  [[nodiscard]] std::vector<std::int16_t> families_to_try(const Node&) const;
  [[nodiscard]] BoundedNode best_of_family(const Node&) const;

  const PlanTree& tree_;
  NodeBounds& bounds_;
  Workers& workers_;
  std::int64_t usable_;
};

}  // namespace pleat
