// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many spare nodes a job needs. The number of nodes in repair at one time is Poisson
// distributed, and its mean is the failure rate times the mean repair time. How repair times are
// distributed does not matter (an M/G/infinity queue).
#pragma once

namespace pleat {

// The probability that a Poisson variable is at most `count`; 0 for a negative count.
[[nodiscard]] double poisson_cdf(double mean, int count);

// The smallest count for which that probability is at least `target`, which lies between 0 and 1.
[[nodiscard]] int poisson_quantile(double mean, double target);

}  // namespace pleat
