// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How the ranks of a plan split its state: the domains that a set of shards lies within.
#pragma once

#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/cluster.hpp"
#include "planner/search_config.hpp"
#include "planner/space/memory_choice.hpp"

namespace pleat {

// The innermost network domain, if the GPUs are in several; else 0.
[[nodiscard]] int domain_of_several(const ClusterSpec&, const SearchConfig&);

// The domains that a search tries: 0 (all ranks), the innermost network domain, 8 of them, 64 of
// them and so on, up to 1,024 ranks. Collectives of a thousand ranks take long, and shards of a
// hundred often fit as well.
[[nodiscard]] std::vector<int> shard_domains(const ClusterSpec&, const SearchConfig&, Sharding);

// The smallest number of shard sets such that each lies within `domain` ranks; 1 if there is none.
[[nodiscard]] int sets_within(int domain, const AttentionMapping&, const ExpertMapping&);

// Sets how the plan's state is sharded: within `domain` ranks, or (0) over all.
void put_shards(Sharding, int domain, Plan&);

// How and where the plans of a mesh may keep their optimizer state.
struct StateChoices {
  std::vector<Sharding> shardings;  // the one that leaves the least on a rank comes last
  std::vector<int> domains{0};      // of shards, as Setting::shard_domain
  StatePlace place = StatePlace::device;  // the allowed one that leaves the least on the GPU
  double share = 1;                       // of the state that is then there
};

}  // namespace pleat
