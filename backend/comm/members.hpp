// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Members of a group as every transport takes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/ids.hpp"

namespace pleat {

// Where `rank` stands among distinct members of a world.
[[nodiscard]] inline int place_among(const std::vector<Rank>& members, Rank rank, int world) {
  for (const Rank r : members) {
    PLEAT_ASSERT(r.value >= 0 && r.value < world);
    PLEAT_ASSERT(std::count(members.begin(), members.end(), r) == 1);
  }
  const auto place = std::find(members.begin(), members.end(), rank);
  PLEAT_ASSERT(place != members.end());
  return static_cast<int>(place - members.begin());
}

// Bytes or elements of all pieces together.
[[nodiscard]] inline std::int64_t total(std::span<const std::int64_t> pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0});
}

// Nothing to move may come with no address; and a member's own piece may already be in place.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

}  // namespace pleat
