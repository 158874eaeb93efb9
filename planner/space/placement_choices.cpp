// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/placement_choices.hpp"

#include <algorithm>

#include "core/plan/expert_slots.hpp"

namespace pleat {

// Megatron-LM has experts in order (core/transformer/moe/moe_layer.py, local_expert_indices).
bool allows_placement(const SearchConfig& c, const ExpertMapping& e) {
  const auto& placements = c.pin<"expert-placement">();
  const auto& copies = c.pin<"redundant-experts">();
  if (copies && std::ranges::find(copies, e.redundant) == copies.end()) return false;
  if (placements) return std::ranges::find(placements, e.placement) != placements.end();
  return e.placement == ExpertPlacement::in_order || c.runtime == Runtime::pleat || copies;
}

bool PlacementChoices::may_place(const ExpertMapping& mapping) const {
  const WorkloadSpec& w = problem_.workload;
  return problem_.model.moe && mapping.ep > 1 && w.routing == Routing::natural &&
         !w.expert_loads.empty() && mapping.ep % placement_blocks(*problem_.model.moe) == 0;
}

bool PlacementChoices::is_less_busy(const ExpertMapping& placed) {
  const auto [known, fresh] = less_busy_.try_emplace(placed.ep, false);
  if (!fresh) return known->second;
  ExpertMapping in_order = placed;
  in_order.placement = ExpertPlacement::in_order;
  const MoeSpec& moe = *problem_.model.moe;
  const std::vector<double> before = rank_imbalances(problem_.workload, moe, in_order);
  const std::vector<double> after = rank_imbalances(problem_.workload, moe, placed);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i] < before[i]) known->second = true;
  }
  return known->second;
}

std::vector<ExpertMapping> PlacementChoices::of(const ExpertMapping& mapping) {
  const Pinned<ExpertPlacement>& placements = config_.pin<"expert-placement">();
  const Pinned<int>& copies = config_.pin<"redundant-experts">();
  std::vector<ExpertMapping> all;
  const auto add = [&](ExpertPlacement placement, int redundant) {
    all.push_back(mapping);
    all.back().placement = placement;
    all.back().redundant = redundant;
  };
  if (placements || copies) {
    const bool any = placements.empty();
    for (const ExpertPlacement placement : {ExpertPlacement::in_order, ExpertPlacement::by_load}) {
      if (!any && std::ranges::find(placements, placement) == placements.end()) continue;
      const bool by_load = placement == ExpertPlacement::by_load;
      if (any && by_load && !may_place(mapping)) continue;
      for (const int n : copies.sorted_or({kRedundantExperts.begin(), kRedundantExperts.end()})) {
        const bool fits = n == 0 || (by_load && may_place(mapping) && n <= most_redundant(*problem_.model.moe, mapping));
        if (fits || copies) add(placement, n);
      }
    }
    return all;
  }
  ExpertMapping placed = mapping;
  placed.placement = ExpertPlacement::by_load;
  if (config_.runtime != Runtime::pleat || !may_place(mapping)) return {mapping};
  add(is_less_busy(placed) ? ExpertPlacement::by_load : ExpertPlacement::in_order, 0);
  for (const int n : kRedundantExperts) {
    if (n > 0 && n <= most_redundant(*problem_.model.moe, mapping)) add(ExpertPlacement::by_load, n);
  }
  return all;
}

}  // namespace pleat
