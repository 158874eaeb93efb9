// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Slower plans that were met while a plan was changed, and whose pipeline is another one: a better
// layout may make them the fastest.
#pragma once

#include <vector>

#include "planner/neighbours/neighbour_prices.hpp"

namespace pleat {

// So much another layout may gain.
inline constexpr double kHopefulLayout = 1.08;

// The same degrees, chunks, schedule and microbatches.
[[nodiscard]] bool same_pipeline(const Plan&, const Plan&);

class OtherPipelines {
 public:
  // Keeps those that fit and may become faster than `best`, of each pipeline the fastest.
  void add(const std::vector<Neighbour>&, const Plan& best, Seconds value);
  // The fastest ones beside `best`, at most so many, fastest first. Forgets all.
  std::vector<Plan> take(const Plan& best, Seconds value, std::size_t most);

 private:
  std::vector<Neighbour> met_;
};

}  // namespace pleat
