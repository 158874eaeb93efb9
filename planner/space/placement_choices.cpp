// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/placement_choices.hpp"

#include <algorithm>

#include "core/plan/expert_slots.hpp"

namespace pleat {

namespace {

// Megatron-LM has experts in order (core/transformer/moe/moe_layer.py, local_expert_indices): only
// pins have them otherwise.
bool may_place(const SearchConfig& c) {
  const auto& copies = c.pin<"redundant-experts">();
  return c.runtime == Runtime::pleat || c.pin<"expert-placement">() ||
         std::ranges::any_of(copies, [](int n) { return n > 0; });
}

}  // namespace

bool may_place_experts(const Problem& problem, const SearchConfig& c) {
  const WorkloadSpec& w = problem.workload;
  return problem.model.moe && w.routing == Routing::natural && !w.expert_loads.empty() &&
         may_place(c);
}

bool allows_placement(const SearchConfig& c, const ExpertMapping& e) {
  const auto& placements = c.pin<"expert-placement">();
  const auto& copies = c.pin<"redundant-experts">();
  if (copies && std::ranges::find(copies, e.redundant) == copies.end()) return false;
  if (placements) return std::ranges::find(placements, e.placement) != placements.end();
  return e.placement == ExpertPlacement::in_order || may_place(c);
}

bool PlacementChoices::may_place(const ExpertMapping& mapping) const {
  return may_place_experts(problem_, config_) && mapping.ep > 1 &&
         mapping.ep % placement_blocks(*problem_.model.moe) == 0;
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
  const bool may = may_place(mapping);
  const std::int64_t most = may ? most_redundant(*problem_.model.moe, mapping) : 0;
  std::vector<ExpertMapping> all;
  const auto add = [&](ExpertPlacement placement, int redundant) {
    all.push_back(mapping);
    all.back().placement = placement;
    all.back().redundant = redundant;
  };
  const auto add_with_copies = [&](ExpertPlacement placement) {
    for (const int n : copies.sorted_or({kRedundantExperts.begin(), kRedundantExperts.end()})) {
      const bool valid = n == 0 || (placement == ExpertPlacement::by_load && n <= most);
      if (valid || copies) add(placement, n);
    }
  };
  if (placements) {
    for (const ExpertPlacement placement : placements.sorted()) add_with_copies(placement);
    return all;
  }
  ExpertMapping placed = mapping;
  placed.placement = ExpertPlacement::by_load;
  const bool better = may && is_less_busy(placed);
  if (!better) add_with_copies(ExpertPlacement::in_order);
  if (may) add_with_copies(ExpertPlacement::by_load);
  // Where placing gains nothing, experts placed without copies are as those in order.
  if (may && !better) {
    std::erase_if(all, [](const ExpertMapping& m) {
      return m.placement == ExpertPlacement::by_load && m.redundant == 0;
    });
  }
  return all;
}

}  // namespace pleat
