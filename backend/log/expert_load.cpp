// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/log/expert_load.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {

void ExpertLoad::clear() {
  for (auto& [layer, counts] : counts_) std::fill(counts.begin(), counts.end(), 0);
}

void ExpertLoad::add(int layer, std::span<const std::int32_t> counts) {
  std::vector<std::int64_t>& sum = counts_[layer];
  sum.resize(counts.size());
  for (std::size_t e = 0; e < counts.size(); ++e) sum[e] += counts[e];
}

double ExpertLoad::max_over_mean(Communicator& world, std::int64_t layers,
                                 std::int64_t experts) const {
  if (experts == 0) return 0;
  const auto n = static_cast<std::size_t>(experts);
  std::vector<float> all(static_cast<std::size_t>(layers) * n);
  for (const auto& [layer, counts] : counts_) {
    PLEAT_ASSERT(layer >= 0 && layer < layers && counts.size() == n);
    for (std::size_t e = 0; e < n; ++e) {
      all[static_cast<std::size_t>(layer) * n + e] = static_cast<float>(counts[e]);
    }
  }
  world.all_reduce(all);
  double worst = 0;
  for (std::size_t begin = 0; begin < all.size(); begin += n) {
    double sum = 0, most = 0;
    for (std::size_t e = 0; e < n; ++e) {
      sum += all[begin + e];
      most = std::max(most, static_cast<double>(all[begin + e]));
    }
    if (sum > 0) worst = std::max(worst, most * static_cast<double>(n) / sum);
  }
  return worst;
}

}  // namespace pleat
