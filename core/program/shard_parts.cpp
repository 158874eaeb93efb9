// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a shard's moments are cut into blocks with a scale each.
#include <algorithm>

#include "core/program/step_state.hpp"

namespace pleat {
namespace {

std::int64_t blocks_of(std::int64_t elements) {
  return (elements + kMomentBlock - 1) / kMomentBlock;
}

// Where runs of elements that so many ranks hold alike begin and end, in order.
std::vector<std::int64_t> borders_of(const BucketState& b) {
  std::vector<std::int64_t> borders;
  int last = 1;
  for (const Copies& c : b.copies) {
    if (c.ranks == 1) continue;
    if (!borders.empty() && borders.back() == c.first && last == c.ranks) {
      borders.pop_back();
    } else {
      borders.push_back(c.first);
    }
    borders.push_back(c.first + c.elements);
    last = c.ranks;
  }
  if (b.twin_table) {
    borders.push_back(b.twin_table->first);
    borders.push_back(b.twin_table->first + b.twin_table->elements);
    std::ranges::sort(borders);
  }
  return borders;
}

}  // namespace

std::vector<ShardPart> shard_parts(const BucketState& b, std::int64_t shard, std::int64_t first,
                                   std::int64_t elements) {
  std::vector<BucketUnit> units = b.units;
  if (units.empty()) units = {{.begin = 0, .elements = b.shards * b.shard_elements}};
  const std::vector<std::int64_t> borders = borders_of(b);
  std::vector<ShardPart> parts;
  std::int64_t scales = 0;
  for (const BucketUnit& unit : units) {
    const std::int64_t begin = unit.begin / b.shards, each = unit.elements / b.shards;
    const std::int64_t to_whole = unit.begin + shard * each - begin;
    std::int64_t at = std::max(first, begin) + to_whole;
    const std::int64_t end = std::min(first + elements, begin + each) + to_whole;
    auto border = std::ranges::upper_bound(borders, at);
    while (at < end) {
      const std::int64_t to = border == borders.end() ? end : std::min(end, *border);
      if (to > at) parts.push_back({at, at - to_whole, to - at, scales});
      scales += blocks_of(to - at);
      at = to;
      if (border != borders.end()) ++border;
    }
  }
  return parts;
}

std::int64_t moment_scales(const BucketState& b, std::int64_t first, std::int64_t elements) {
  std::int64_t most = 0;
  for (std::int64_t shard = 0; shard < b.shards; ++shard) {
    const std::vector<ShardPart> parts = shard_parts(b, shard, first, elements);
    if (!parts.empty())
      most = std::max(most, parts.back().scales + blocks_of(parts.back().elements));
  }
  return most;
}

}  // namespace pleat
