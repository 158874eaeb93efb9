// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/borrowed_profile.hpp"

#include <algorithm>

namespace pleat {
namespace {

constexpr double kBandOfOtherNetwork = 0.2;  // assumption

bool same_links(const NetworkTier& a, const NetworkTier& b) {
  return a.size == b.size && a.bandwidth == b.bandwidth;
}

}  // namespace

bool has_gpu_of(const ClusterSpec& cluster, const ClusterSpec& measured) {
  return cluster.shared_cores == 0 && measured.shared_cores == 0 && cluster.gpu == measured.gpu;
}

Profile borrow_profile(Profile profile, const ClusterSpec& measured, const ClusterSpec& cluster) {
  profile.borrowed_from = profile.cluster;
  profile.cluster = cluster.name;
  profile.provenance = "Measured on " + measured.name + ", which has the same GPU. " +
                       profile.provenance;
  if (cluster.tiers.empty() || measured.tiers.empty()) return profile;
  const Profile round =
      datasheet_profile(cluster.name, cluster.tiers.size(), profile.runtime);
  const auto known = profile.collectives;
  profile.collectives.clear();
  bool same = true;
  for (std::size_t i = 0; i < cluster.tiers.size(); ++i) {
    const auto at = std::ranges::find_if(
        measured.tiers, [&](const NetworkTier& t) { return same_links(t, cluster.tiers[i]); });
    const auto tier = static_cast<std::size_t>(at - measured.tiers.begin());
    const bool found = at != measured.tiers.end() && !known.empty();
    same = same && found;
    profile.collectives.push_back(found ? known[std::min(tier, known.size() - 1)]
                                        : round.collectives[i]);
  }
  if (!same_links(cluster.tiers.front(), measured.tiers.front())) {
    profile.collective_table.clear();  // times within the first tier
    profile.collective_times = {};
    std::erase_if(profile.dispatch, [](const DispatchRate& r) { return r.tier == 0; });
  }
  const double faster = cluster.tiers.back().bandwidth / measured.tiers.back().bandwidth;
  for (DispatchRate& r : profile.dispatch) {
    if (r.tier == 0 || faster == 1) continue;
    r.dispatch *= faster;
    r.combine *= faster;
    r.source = std::max(r.source, SourceClass::interpolated);
  }
  if (!same) profile.relative_band = std::max(profile.relative_band, kBandOfOtherNetwork);
  return profile;
}

}  // namespace pleat
