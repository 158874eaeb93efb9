// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every plan of a search's space written out, for small spaces. The search itself opens meshes one
// by one. The space is the product's own: whether it leaves a plan out is judged by
// tests/planner/laws.
#pragma once

#include <algorithm>
#include <vector>

#include "core/plan/constraints.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/run_settings.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {

// A plan and where it stands in the plan order.
struct SpacePlan {
  std::size_t mesh = 0, setting = 0, memory = 0;
  Plan plan;
};

// All valid combinations of mesh, setting and memory choice, in plan order, but for choices by
// stage.
inline std::vector<SpacePlan> enumerate_plans(const Problem& problem, const SearchConfig& config) {
  const MeshSpace space = enumerate_meshes(problem, config);
  const std::vector<Setting> all_settings = settings(problem.model, problem.cluster, config);
  const std::vector<MemoryChoice> choices = memory_choices(problem.model, problem.cluster, config);
  std::vector<SpacePlan> plans;
  for (std::size_t i = 0; i < space.meshes.size(); ++i) {
    Plan plan = space.plan(space.meshes[i], config);
    for (std::size_t s = 0; s < all_settings.size(); ++s) {
      if (all_settings[s].exchanges_too_far_on(space.meshes[i])) continue;
      all_settings[s].put_into(plan);
      for (std::size_t m = 0; m < choices.size(); ++m) {
        const auto layout = static_cast<std::size_t>(space.meshes[i].layout);
        if (choices[m].by_stage) continue;  // one of very many
        if (choices[m].repeats_another(space.most_layers[layout], plan.attention.pp)) continue;
        choices[m].put_into(plan);
        const PlanContext context{problem.model, problem.workload, plan, config.gpus};
        const bool valid =
            refused_by(config.runtime, problem.model, problem.workload, plan,
                       problem.cluster.gpu) == nullptr &&
            std::ranges::all_of(constraints(),
                                [&](const Constraint& rule) { return rule.holds(context); });
        if (valid) plans.push_back({i, s, m, plan});
      }
    }
  }
  return plans;
}

}  // namespace pleat
