// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A maximum a posteriori estimate of few constants from few measurements, some of which may be odd:
// a linear model, prior and errors of Student's t distribution (docs/MODEL.md section 14).
#pragma once

#include <vector>

#include "core/spec/learned.hpp"

namespace pleat {

// The heavier the tails, the less an odd run pulls. With 4 degrees of freedom one that is 3 scales
// off pulls less than one that is 2 scales off. The same holds for the prior: many runs that agree
// on a cluster far from what was known are believed.
inline constexpr double kTailFreedom = 4;

// One measurement: residual(x) = offset - sum of slopes_i x_i, in logarithms.
struct FitRow {
  double offset = 0;
  LearnedVector slopes{};
  double scale = 1;  // of its error
};

// What is known of the constants before: 0 with these standard deviations, within these limits.
struct FitPrior {
  LearnedVector deviation{};  // 0: the constant stays where it is
  LearnedVector low{}, high{};
};

struct FitResult {
  LearnedVector value{};
  LearnedMatrix covariance{};     // of the values, given the rows
  std::vector<double> residuals;  // of the rows at `value`
  std::vector<double> weights;    // 1: counts fully; towards 0: an odd row
};

// Deterministic. Errors are first taken to be 8 times as large, then less and less: the solution
// follows the bulk of the rows and not the row it began beside.
[[nodiscard]] FitResult fit_robustly(const std::vector<FitRow>&, const FitPrior&);

}  // namespace pleat
