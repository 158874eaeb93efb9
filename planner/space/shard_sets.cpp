// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/shard_sets.hpp"

#include <algorithm>
#include <numeric>

namespace pleat {
namespace {

constexpr std::int64_t kDomainStep = 8, kFewRanks = 1024;

}  // namespace

int domain_of_several(const ClusterSpec& cluster, const SearchConfig& c) {
  const int domain = cluster.tiers.empty() ? 0 : cluster.tiers.front().size;
  return domain < c.gpus ? domain : 0;
}

std::vector<int> shard_domains(const ClusterSpec& cluster, const SearchConfig& c,
                               Sharding sharding) {
  if (sharding == Sharding::none) return {0};
  const int domain = domain_of_several(cluster, c);
  if (domain == 0) return {0};
  if (c.hybrid_sharding) return {*c.hybrid_sharding ? domain : 0};
  std::vector<int> all{0, domain};
  for (std::int64_t ranks = domain * kDomainStep; ranks < std::min<std::int64_t>(c.gpus, kFewRanks);
       ranks *= kDomainStep) {
    all.push_back(static_cast<int>(ranks));
  }
  return all;
}

// Tries how many of the smallest possible sets make one: at most `domain`, whatever the number of
// GPUs.
int sets_within(int domain, const AttentionMapping& a, const ExpertMapping& e) {
  const std::int64_t ranks = std::int64_t{a.dp} * a.cp;
  const std::int64_t most = std::gcd(ranks, std::int64_t{e.edp});
  const std::int64_t least = (ranks * a.tp + domain - 1) / domain;
  for (std::int64_t share = most / least; share > 0; --share) {
    if (most % share == 0) return static_cast<int>(most / share);
  }
  return 1;
}

void put_shards(Sharding sharding, int domain, Plan& plan) {
  plan.sharding = sharding;
  plan.optimizer_instances = 1;
  plan.fsdp_group = 0;
  if (domain == 0 || sharding == Sharding::none) return;
  const int sets = sets_within(domain, plan.attention, plan.expert);
  if (sharding == Sharding::zero1) {
    plan.optimizer_instances = sets;
  } else if (sets > 1) {
    plan.fsdp_group = plan.attention.dp * plan.attention.cp / sets;
  }
}

}  // namespace pleat
