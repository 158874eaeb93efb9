// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/context_shard.hpp"

#include <algorithm>
#include <numeric>

#include "core/diagnostics.hpp"

namespace pleat {

std::vector<std::int32_t> positions(const ContextShard& s) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(s.ranks == 1 ? s.seq : s.tokens()));
  if (s.ranks == 1) {  // of any length
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  PLEAT_ASSERT(s.seq % (2 * s.ranks) == 0);
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::iota(all.begin(), half, static_cast<std::int32_t>(s.first * s.chunk()));
  const std::int64_t mirrored = 2 * s.ranks - s.first - s.count;
  std::iota(half, all.end(), static_cast<std::int32_t>(mirrored * s.chunk()));
  return all;
}

void packed_documents(std::span<const std::int64_t> lengths, std::int64_t sequence,
                      std::span<std::int32_t> starts) {
  const auto seq = static_cast<std::int64_t>(starts.size());
  std::int64_t begin = 0;
  for (auto d = static_cast<std::size_t>(sequence); begin < seq; ++d) {
    const std::int64_t end = std::min(begin + lengths[d % lengths.size()], seq);
    std::fill(starts.begin() + begin, starts.begin() + end, static_cast<std::int32_t>(begin));
    begin = end;
  }
}

bool visible_rows(std::span<const std::int32_t> queries, std::span<const std::int32_t> keys,
                  const KeyMask& mask, RowRange* rows) {
  bool any = false;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::int64_t q = queries[i];
    std::int64_t lowest = 0;
    if (!mask.documents.empty()) lowest = mask.documents[static_cast<std::size_t>(q)];
    if (mask.window > 0) lowest = std::max(lowest, q - mask.window + 1);
    if (mask.chunk > 0) lowest = std::max(lowest, q - q % mask.chunk);
    const auto first = std::lower_bound(keys.begin(), keys.end(), lowest);
    const auto last = std::upper_bound(first, keys.end(), q);
    rows[i][0] = static_cast<std::int32_t>(first - keys.begin());
    rows[i][1] = static_cast<std::int32_t>(last - keys.begin());
    any = any || first != last;
  }
  return any;
}

}  // namespace pleat
