// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/search_space.hpp"

#include <algorithm>

#include "planner/space/runtime_rules.hpp"

namespace pleat {

std::vector<SpacePlan> enumerate_plans(const ModelSpec& model, const ClusterSpec& cluster,
                                       const WorkloadSpec& workload, const SearchConfig& config) {
  const MeshSpace space = enumerate_meshes(model, cluster, workload, config);
  const std::vector<Setting> all_settings = settings(model, cluster, config);
  const std::vector<MemoryChoice> choices = memory_choices(model, cluster, config);
  std::vector<SpacePlan> plans;
  for (std::size_t i = 0; i < space.meshes.size(); ++i) {
    Plan plan = space.plan(space.meshes[i], config);
    for (std::size_t s = 0; s < all_settings.size(); ++s) {
      if (all_settings[s].unmeasured_on(space.meshes[i])) continue;
      all_settings[s].put_into(plan);
      for (std::size_t m = 0; m < choices.size(); ++m) {
        const auto layout = static_cast<std::size_t>(space.meshes[i].layout);
        if (choices[m].by_stage) continue;  // one of very many
        if (choices[m].moot(space.most_layers[layout], plan.attention.pp)) continue;
        choices[m].put_into(plan);
        const PlanContext context{model, workload, plan, config.gpus};
        const bool valid =
            refused_by(config.runtime, model, plan) == nullptr &&
            std::ranges::all_of(constraints(),
                                [&](const Constraint& rule) { return rule.holds(context); });
        if (valid) plans.push_back({i, s, m, plan});
      }
    }
  }
  return plans;
}

}  // namespace pleat
