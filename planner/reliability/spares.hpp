// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many spare nodes a job needs: nodes in repair at one time are Poisson distributed with mean
// rate x repair time, whatever the distribution of the repair time (M/G/infinity).
#pragma once

namespace pleat {

// P(N <= count) of a Poisson variable; 0 for a negative count.
[[nodiscard]] double poisson_cdf(double mean, int count);

// The smallest count with P(N <= count) >= target, for target in (0, 1).
[[nodiscard]] int poisson_quantile(double mean, double target);

}  // namespace pleat
