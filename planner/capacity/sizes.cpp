// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/sizes.hpp"

#include <cstdint>
#include <set>

namespace pleat {

std::vector<int> sizes_to_try(const SizeRange& range, const ClusterSpec& cluster) {
  std::set<int> sizes(range.exact.begin(), range.exact.end());
  if (!sizes.empty()) return {sizes.begin(), sizes.end()};
  const auto add = [&](std::int64_t first, auto next) {
    for (std::int64_t n = first; n <= range.most; n = next(n)) {
      if (n >= range.least) sizes.insert(static_cast<int>(n));
    }
  };
  const auto twice = [](std::int64_t n) { return 2 * n; };
  if (range.step > 0) {
    add(range.step, [&](std::int64_t n) { return n + range.step; });
  } else {
    add(1, twice);
    const int domain = cluster.tiers.empty() ? 0 : cluster.tiers.front().size;
    add(domain > 0 ? domain : cluster.gpus_per_node, twice);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace pleat
