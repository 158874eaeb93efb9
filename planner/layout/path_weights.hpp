// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The weights of paths whose mean gives the best lower bound over all layouts.
#pragma once

#include <vector>

#include "core/quantity.hpp"

namespace pleat {

// The length of a path, or of a mean of paths, as a function of the layout: `fixed`, plus
// weight[v][k] for each layer of kind k on virtual stage v.
struct PathSum {
  Seconds fixed;
  std::vector<std::vector<Seconds>> weight;
};
void add(const PathSum&, double times, PathSum& sum);

struct PathWeights {
  Seconds bound;               // of every layout, also of divisible layers
  std::vector<double> weight;  // of each path; they add up to 1
  // [virtual stage][kind]: the share of each kind of layer, in a layout that is short under these
  // weights
  std::vector<std::vector<double>> layers;
};

// Solves a zero-sum game by optimistic multiplicative weights: one player weights the paths to make
// the step long, the other places the layers (`counts` of each kind) to make it short. The players'
// averages over `rounds` converge to the optimum. The bound is valid for any weights, so also
// before they converge.
[[nodiscard]] PathWeights best_path_weights(const std::vector<PathSum>&,
                                            const std::vector<int>& counts, int rounds);

}  // namespace pleat
