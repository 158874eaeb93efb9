// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// All that a plan may recompute and offload instead of what it does: every set of modules, both
// together, and every number of whole layers. There are thousands; bounds say which may be faster.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "planner/neighbours/neighbour_prices.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/space/memory_choice.hpp"

namespace pleat {

// Whether the plan gives up time for memory in some way; else no other way is of use.
[[nodiscard]] bool gives_up_memory(const Plan&);
// How much of the optimizer's state is in host memory, 0 to 1.
[[nodiscard]] double host_share(const Plan&);
// Whether the optimizer's state is in the same place, in whatever share.
[[nodiscard]] bool same_state_place(const Plan&, const Plan&);
// Whether two plans give up the same.
[[nodiscard]] bool same_memory_choice(const Plan&, const Plan&);

class MemorySets {
 public:
  // The references must outlive it.
  MemorySets(const Problem& problem, const SearchConfig& config)
      : problem_(problem), config_(config) {}

  // Plans that differ from `own` in that alone, may be faster than `than` and are likely to fit,
  // those with the smallest bounds first, `most` of them. Of sets that contain each other only the
  // smallest. Some may break rules.
  std::vector<Plan> hopeful(const Candidate& own, Seconds than, NeighbourPrices&,
                            std::size_t most);

 private:
  struct Choices {
    explicit Choices(std::vector<MemoryChoice>);
    std::vector<MemoryChoice> list;
    ChoiceWays ways;
  };
  // With the plan's place and share of the optimizer's state.
  const Choices& choices_beside(const Plan&);

  const Problem& problem_;
  const SearchConfig& config_;
  std::array<std::unique_ptr<Choices>, 3> by_place_;  // as they are asked for
};

}  // namespace pleat
