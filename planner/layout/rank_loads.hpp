// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whole layers on pipeline ranks: the least of the largest of sums that are linear in how many each
// rank holds.
#pragma once

#include <vector>

#include "core/quantity.hpp"

namespace pleat {

// A sum that bounds the step: `fixed` and of each layer of kind k on rank r weight[r][k].
struct LoadSum {
  Seconds fixed;
  std::vector<std::vector<Seconds>> weight;
};

// Over all ways to give the ranks whole numbers of layers, `counts` of each kind in all, the least of
// the largest of the sums: one a rank, in which that rank's own layers count most, then maybe one a rank
// again. No more than `enough`; `least`, which must be a bound already, where it would take long.
[[nodiscard]] Seconds least_loads(const std::vector<LoadSum>&, const std::vector<int>& counts,
                                  Seconds least, Seconds enough);

}  // namespace pleat
