// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/nearest_plans.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pleat {
namespace {

constexpr std::size_t kRanked = 2048, kTried = 16;  // meshes

using RankedMeshes = std::vector<std::pair<std::int64_t, std::int32_t>>;  // bytes, mesh

void keep_least(RankedMeshes& meshes, std::size_t count) {
  std::ranges::sort(meshes);
  if (meshes.size() > count) meshes.resize(count);
}

}  // namespace

void NearestPlans::remember(const PlanTree& tree, std::int32_t mesh, std::int64_t peak) {
  least_bytes_.resize(tree.space.meshes.size(), kNoPeak);
  std::int64_t& least = least_bytes_[static_cast<std::size_t>(mesh)];
  least = std::min(least, peak);
}

// The bounds of meshes count only the smallest state, so the first kRanked are ranked anew by
// roughly what their smallest plan needs; of the first kTried of these, that plan is priced.
std::vector<Candidate> NearestPlans::find(NodeOpener& opener, Workers& workers) const {
  RankedMeshes meshes;
  for (std::size_t i = 0; i < least_bytes_.size(); ++i) {
    if (least_bytes_[i] < kNoPeak) {
      meshes.emplace_back(least_bytes_[i], static_cast<std::int32_t>(i));
    }
  }
  keep_least(meshes, kRanked);
  workers.for_each(meshes.size(), [&](std::size_t i) {
    meshes[i].first = opener.least_memory_bound(meshes[i].second);
  });
  keep_least(meshes, kTried);
  std::vector<std::optional<Candidate>> tried(meshes.size());
  workers.for_each(meshes.size(), [&](std::size_t i) {
    tried[i] = opener.least_memory_plan(meshes[i].second);
  });
  std::vector<Candidate> nearest;
  for (std::optional<Candidate>& one : tried) {
    if (one) nearest.push_back(std::move(*one));
  }
  std::ranges::stable_sort(nearest, {}, [](const Candidate& c) { return c.estimate.peak_bytes(); });
  if (nearest.size() > kNearestKept) nearest.resize(kNearestKept);
  return nearest;
}

}  // namespace pleat
