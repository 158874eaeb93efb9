// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/placement_choices.hpp"

#include <algorithm>
#include <numeric>

#include "core/plan/expert_slots.hpp"
#include "core/plan/plan_words.hpp"

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

double PlacementChoices::busiest(const ExpertMapping& mapping) {
  const std::tuple key{mapping.ep, mapping.placement, mapping.redundant};
  const auto [known, fresh] = busiest_.try_emplace(key, 0.0);
  if (!fresh) return known->second;
  const std::vector<double> factors =
      rank_imbalances(problem_.workload, *problem_.model.moe, mapping);
  const double sum = std::accumulate(factors.begin(), factors.end(), 0.0);
  return known->second = sum / static_cast<double>(factors.size());
}

std::vector<ExpertMapping> PlacementChoices::pinned(const ExpertMapping& mapping) const {
  const Pinned<ExpertPlacement>& placements = config_.pin<"expert-placement">();
  const Pinned<int>& copies = config_.pin<"redundant-experts">();
  const bool may = may_place(mapping);
  const std::int64_t most = may ? most_redundant(*problem_.model.moe, mapping) : 0;
  std::vector<ExpertMapping> all;
  for (const ExpertPlacement placement : placements.sorted_or({kAll<ExpertPlacement>.begin(),
                                                               kAll<ExpertPlacement>.end()})) {
    const bool by_load = placement == ExpertPlacement::by_load;
    if (by_load && !may && placements.empty()) continue;
    for (const int n : copies.sorted_or({kRedundantExperts.begin(), kRedundantExperts.end()})) {
      if (copies.empty() && n > (by_load ? most : 0)) continue;
      all.push_back(mapping);
      all.back().placement = placement;
      all.back().redundant = n;
    }
  }
  return all;
}

std::vector<ExpertMapping> PlacementChoices::of(const ExpertMapping& mapping) {
  if (config_.pin<"expert-placement">() || config_.pin<"redundant-experts">()) {
    return pinned(mapping);
  }
  std::vector<ExpertMapping> all{mapping};
  if (!may_place(mapping)) return all;
  ExpertMapping placed = mapping;
  placed.placement = ExpertPlacement::by_load;
  if (busiest(placed) < busiest(mapping)) all.front() = placed;
  double least = busiest(all.front());
  for (const int n : kRedundantExperts) {
    placed.redundant = n;
    if (n == 0 || n > most_redundant(*problem_.model.moe, mapping)) continue;
    if (busiest(placed) > least * (1 - kLeastGainOfCopies)) continue;
    least = busiest(placed);
    all.push_back(placed);
  }
  return all;
}

}  // namespace pleat
