// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Minimises an error over a few constants, mostly logarithms: steps along each constant and along
// the diagonals of each two, that halve from a factor of 2 to one of 1.002 whenever none improves.
// Diagonals, because constants trade (fixed time against half work) and the error has creases.
#pragma once

#include <functional>
#include <limits>
#include <vector>

namespace pleat {

struct Constant {
  double start = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();  // of `low`: it is not moved
};

struct Fit {
  std::vector<double> constants;
  double error = std::numeric_limits<double>::infinity();
};

using FitError = std::function<double(const std::vector<double>&)>;

[[nodiscard]] Fit walk_down(const std::vector<Constant>&, const FitError&);

}  // namespace pleat
