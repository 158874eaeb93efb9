// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every plan of a search written out: for tests and small spaces. The search itself opens meshes one
// by one.
#pragma once

#include <vector>

#include "planner/space/mesh_space.hpp"
#include "planner/space/technique.hpp"

namespace pleat {

// A plan and where it stands in the plan order.
struct SpacePlan {
  std::size_t mesh = 0, setting = 0, memory = 0;
  Plan plan;
};

// All valid combinations of mesh, setting and memory choice, in plan order, but for choices by stage.
[[nodiscard]] std::vector<SpacePlan> enumerate_plans(const ModelSpec&, const ClusterSpec&,
                                                     const WorkloadSpec&, const SearchConfig&);

}  // namespace pleat
