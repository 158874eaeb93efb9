// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/recorded_routing.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plan/rank_map.hpp"

namespace pleat {

double recorded_imbalance(const Program& program, const TrainResult& result) {
  const std::int64_t mean = balanced_routed_tokens(program.model, program.workload, program.plan);
  if (mean == 0) return 1;
  // Of one pipeline stage's expert replica, in one microbatch and layer.
  using Exchange = std::tuple<int, int, int, int>;
  std::map<Exchange, std::int64_t> busiest;
  for (std::size_t r = 0; r < result.ranks.size(); ++r) {
    const ExpertCoordinates at = expert_coordinates(program.plan, Rank{static_cast<int>(r)});
    for (const auto& [where, rows] : result.ranks[r].routed) {
      std::int64_t& most = busiest[{at.pp, at.edp, where.first, where.second}];
      most = std::max(most, rows.routed);
    }
  }
  if (busiest.empty()) return 1;
  double sum = 0;
  for (const auto& [exchange, most] : busiest) sum += static_cast<double>(most);
  return std::max(1.0, sum / static_cast<double>(busiest.size()) / static_cast<double>(mean));
}

}  // namespace pleat
