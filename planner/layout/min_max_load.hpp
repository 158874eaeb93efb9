// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A lower bound for whole layers: over all ways to distribute the layers among pipeline ranks, the
// smallest possible value of the most loaded rank.
#pragma once

#include <vector>

#include "core/quantity.hpp"

namespace pleat {

// A load that the step takes at least: `fixed`, plus weight[r][k] for each layer of kind k on rank
// r.
struct RankLoad {
  Seconds fixed;
  std::vector<std::vector<Seconds>> weight;
};

// The smallest value that the largest load can have, over all distributions of whole layers;
// `counts` is the number of layers of each kind. The loads come in groups of one for each rank, in
// the order of ranks; in each, that rank's own layers weigh most. Capped at `enough`. Returns
// `least`, which must be a valid bound, where the exact answer would take too long.
[[nodiscard]] Seconds min_max_load(const std::vector<RankLoad>&, const std::vector<int>& counts,
                                  Seconds least, Seconds enough);

}  // namespace pleat
