// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// When nothing fits: the plans that miss a GPU's memory by the least.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search_result.hpp"

namespace pleat {

inline constexpr std::size_t kNearestKept = 3;  // plans

class NearestPlans {
 public:
  // Notes how many bytes plans of the mesh need at least.
  void remember(const PlanTree&, std::int32_t mesh, std::int64_t peak);
  // The plans with the smallest peaks, at most kNearestKept; none where nothing was noted.
  [[nodiscard]] std::vector<Candidate> find(NodeOpener&, Workers&) const;

 private:
  std::vector<std::int64_t> least_bytes_;  // by mesh; empty: nothing noted
};

}  // namespace pleat
