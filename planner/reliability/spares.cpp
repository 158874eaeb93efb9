// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/reliability/spares.hpp"

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "core/diagnostics.hpp"

namespace pleat {

double poisson_cdf(double mean, int count) {
  if (count < 0) return 0;
  return mean <= 0 ? 1 : boost::math::gamma_q(count + 1.0, mean);
}

int poisson_quantile(double mean, double target) {
  PLEAT_ASSERT(target > 0 && target < 1 && mean < 1e9);
  // The search starts at the mean and walks to the exact count.
  int count = static_cast<int>(mean);
  while (count > 0 && poisson_cdf(mean, count - 1) >= target) --count;
  while (poisson_cdf(mean, count) < target) ++count;
  return count;
}

}  // namespace pleat
