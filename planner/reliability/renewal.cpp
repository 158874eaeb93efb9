// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Between two failures the job runs for a time X, exponentially distributed with mean mtbf. With S
// for work and stall, and U for the upload, its first save is safe after S + U, and one more after
// each further S. If G saves are expected in such a run, a save costs (E[X] + E[restart]) / G. The
// variance is that of a renewal reward process.
#include "planner/reliability/renewal.hpp"

#include <cmath>
#include <limits>

namespace pleat {
namespace {

constexpr double kLargestExponent = 700;
// Below this, rounding spoils the exact variance, and its first order is closer.
constexpr double kSmallest = 1e-5;

struct Shares {  // times in units of the mtbf
  double cycle, upload, restart;
};

Shares shares_of(const SaveCycle& c) {
  return {(c.work + c.stall) / c.mtbf, c.upload / c.mtbf, c.restart / c.mtbf};
}

bool hopeless(const Shares& s) { return s.cycle + s.upload + s.restart > kLargestExponent; }

}  // namespace

Seconds expected_restart(Seconds restart, Seconds mtbf) {
  if (std::isinf(mtbf.base())) return restart;
  return mtbf * std::expm1(restart / mtbf);
}

CycleTime expected_cycle(const SaveCycle& c) {
  CycleTime time{.work = c.work, .stall = c.stall, .lost = {}, .restart = {}};
  if (std::isinf(c.mtbf.base())) return time;
  const Shares s = shares_of(c);
  if (hopeless(s)) {
    const Seconds never(std::numeric_limits<double>::infinity());
    time.lost = time.restart = never;
    time.failures = never.base();
    return time;
  }
  const double runs = std::expm1(s.cycle) * std::exp(s.upload);  // that end in a failure
  time.lost = c.mtbf * runs - (c.work + c.stall);
  time.restart = runs * expected_restart(c.restart, c.mtbf);
  time.failures = runs * std::exp(s.restart);
  return time;
}

double cycle_variance(const SaveCycle& c) {
  if (std::isinf(c.mtbf.base())) return 0;
  const Shares s = shares_of(c);
  if (hopeless(s)) return std::numeric_limits<double>::infinity();
  const double unit = c.mtbf.base() * c.mtbf.base();
  if (s.cycle + s.upload + s.restart < kSmallest) {  // rate x E[(lost + restart)^2]
    const double mean = s.cycle / 2 + s.upload + s.restart;
    return unit * s.cycle * (mean * mean + s.cycle * s.cycle / 12);
  }
  // In units of the mtbf: sums over q^j with q = exp(-cycle), u = exp(-upload).
  const double q = std::exp(-s.cycle), u = std::exp(-s.upload), gap = -std::expm1(-s.cycle);
  const double saves = u * q / gap;                                        // E[N]
  const double saves_time = u * ((s.upload + 1) * q / gap + s.cycle * q / (gap * gap));  // E[N X]
  const double saves_squared = u * (2 * q / (gap * gap) - q / gap);        // E[N^2]
  const double wait = std::expm1(s.restart);                               // E[restart]
  const double price = (1 + wait) / saves;                                 // time of a save
  const double variance_wait = std::exp(2 * s.restart) - 1 - 2 * s.restart * std::exp(s.restart);
  const double variance_run =
      1 - 2 * price * (saves_time - saves) + price * price * (saves_squared - saves * saves);
  return unit * (variance_run + variance_wait) / saves;
}

double cycle_third_moment(const SaveCycle& c) {
  if (std::isinf(c.mtbf.base())) return 0;
  const double failures = expected_cycle(c).failures;
  if (!std::isfinite(failures)) return failures;
  // E[(least + Y)^3] with Y uniform over the cycle.
  const double least = (c.upload + c.restart).base();
  const double most = least + (c.work + c.stall).base();
  return failures * (std::pow(most, 4) - std::pow(least, 4)) / (4 * (most - least));
}

}  // namespace pleat
