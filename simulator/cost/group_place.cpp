// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where the ranks of each group lie: which tier of the interconnect its slowest member pair needs.
#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "core/plan/rank_map.hpp"
#include "simulator/cost/used_domain.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {
namespace {

bool along_pipeline(Group group) {
  return group == Group::pp_next || group == Group::pp_prev || group == Group::embedding ||
         group == Group::copies;
}

using UsedDomains = boost::container::small_vector<int, 8>;  // by tier

GroupPlace place(const UsedDomains& used, const Plan& plan, int world, Group group) {
  const int size = group_size(plan, group);
  GroupPlace result{.size = size, .tier = 0, .inside = size};
  if (size <= 1 || used.empty()) return result;
  const int stride = group_stride(plan, group);
  // Members lie in one aligned block of ranks. Pipeline neighbours: the stages are the outermost
  // dimension, so some neighbours straddle every domain smaller than the world.
  const int block = along_pipeline(group) ? world : std::min(world, stride * size);
  while (result.tier + 1 < used.size()) {
    const int domain = used[result.tier];
    if (block <= domain && domain % block == 0) break;
    ++result.tier;
  }
  if (result.tier > 0) {
    const int below = used[result.tier - 1];
    result.inside = along_pipeline(group) ? 1 : std::clamp(below / stride, 1, size);
  }
  return result;
}

}  // namespace

int used_domain(const NetworkTier& tier, int ranks, int stage_ranks) {
  if (tier.size <= 0 || tier.size >= ranks) return ranks;
  int used = tier.size;
  while (ranks % used != 0) --used;
  const auto domains = [&](int each) { return (ranks + each - 1) / each; };
  const bool fills = tier.size % stage_ranks == 0;
  const bool better = used % stage_ranks != 0 || domains(tier.size) < domains(used);
  return fills && better ? tier.size : used;
}

ClusterView view_cluster(const ClusterSpec& cluster, const Plan& plan) {
  ClusterView view{.cluster = &cluster,
                   .groups = {},
                   .ranks = plan.world(),
                   .dispatcher = plan.dispatcher,
                   .dispatcher_sms = plan.dispatcher_sms,
                   .cuda_graph = plan.cuda_graph,
                   .precision = plan.precision};
  UsedDomains used;
  for (const NetworkTier& tier : cluster.tiers) {
    used.push_back(used_domain(tier, view.ranks, view.ranks / plan.attention.pp));
  }
  for (std::size_t i = 1; i < kGroups; ++i) {
    view.groups[i] = place(used, plan, view.ranks, static_cast<Group>(i));
  }
  return view;
}

}  // namespace pleat
