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

std::vector<ExpertLoads> ExpertLoad::of_all(Communicator& world, std::int64_t layers,
                                            std::int64_t experts) const {
  if (experts == 0) return {};
  const auto n = static_cast<std::size_t>(experts);
  std::vector<float> all(static_cast<std::size_t>(layers) * n);
  for (const auto& [layer, counts] : counts_) {
    PLEAT_ASSERT(layer >= 0 && layer < layers && counts.size() == n);
    for (std::size_t e = 0; e < n; ++e) {
      all[static_cast<std::size_t>(layer) * n + e] = static_cast<float>(counts[e]);
    }
  }
  world.all_reduce(all);
  std::vector<ExpertLoads> routed;
  for (std::size_t l = 0; l < static_cast<std::size_t>(layers); ++l) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(l * n);
    const auto end = first + static_cast<std::ptrdiff_t>(n);
    if (std::all_of(first, end, [](float load) { return load == 0; })) continue;
    routed.push_back({static_cast<int>(l), std::vector<double>(first, end)});
  }
  return routed;
}

double max_over_mean(const std::vector<ExpertLoads>& all) {
  double worst = 0;
  for (const ExpertLoads& layer : all) {
    double sum = 0, most = 0;
    for (const double load : layer.of) {
      sum += load;
      most = std::max(most, load);
    }
    worst = std::max(worst, most * static_cast<double>(layer.of.size()) / sum);
  }
  return worst;
}

}  // namespace pleat
