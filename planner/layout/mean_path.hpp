// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which mean of paths bounds every placement of layers best.
#pragma once

#include <vector>

#include "core/quantity.hpp"

namespace pleat {

// The length of a path: `fixed`, and of each layer of kind k on virtual stage v weight[v][k].
struct PathSum {
  Seconds fixed;
  std::vector<std::vector<Seconds>> weight;
};
void add(const PathSum&, double times, PathSum& sum);

struct PathMix {
  Seconds bound;              // of every placement, whole layers or not
  std::vector<double> weight; // of the paths; adds up to 1
  std::vector<std::vector<double>> layers;  // [virtual stage][kind]: a part of each kind, hard on the mix
};

// Two players: one mixes paths, the other places layers, `counts` of each kind. Each leans towards what
// has been better against the other so far (multiplicative weights, the last round counted twice); their
// means converge to the best mix. Any mix is a bound: the least that its mean path counts of each layer.
[[nodiscard]] PathMix best_mix(const std::vector<PathSum>&, const std::vector<int>& counts,
                               int rounds);

}  // namespace pleat
