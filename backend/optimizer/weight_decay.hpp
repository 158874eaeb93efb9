// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The elements of the buckets that have no weight decay: norms and biases, and embedding tables
// where the run says so (as in mcore optimizer/__init__.py, where vectors do not decay).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/program/program.hpp"

namespace pleat {

struct ElementRange {  // of a bucket
  std::int64_t first = 0, elements = 0;
  [[nodiscard]] std::int64_t end() const { return first + elements; }
  bool operator==(const ElementRange&) const = default;
};

// Of every bucket in order, without neighbours.
using UndecayedRanges = std::vector<std::vector<ElementRange>>;
[[nodiscard]] UndecayedRanges undecayed_ranges(const StageProgram&, bool tables_decay);

// Cuts [first, end) where it enters or leaves one of the ranges: visit(first, elements, inside).
template <class Visit>
void for_each_run(const std::vector<ElementRange>& ranges, std::int64_t first, std::int64_t end,
                  Visit visit) {
  const auto to = [&](std::int64_t until, bool inside) {
    until = std::min(until, end);
    if (until > first) visit(first, until - first, inside);
    first = std::max(first, until);
  };
  // The first one that ends behind `first`.
  auto range = std::partition_point(ranges.begin(), ranges.end(),
                                    [&](const ElementRange& r) { return r.end() <= first; });
  for (; range != ranges.end() && range->first < end; ++range) {
    to(range->first, false);
    to(range->end(), true);
  }
  to(end, false);
}

}  // namespace pleat
