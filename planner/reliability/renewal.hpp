// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The time that a run takes when failures come at random (exponentially distributed), without
// approximations: after a failure the run goes back to its last save that is safe on storage, and
// failures may also hit restarts. What happens after a save does not depend on what was before it
// (a renewal process, docs/MODEL.md section 12). This holds for any failure rate; first-order
// formulas need rare failures.
#pragma once

#include "core/quantity.hpp"

namespace pleat {

// One round of the step loop: work, then a save.
struct SaveCycle {
  Seconds work;     // useful time between two saves, above 0
  Seconds stall;    // training waits for the save
  Seconds upload;   // then, until the save is safe, at most `work`; 0: it is safe at once
  Seconds restart;  // one recovery, if no further failure hits it
  Seconds mtbf;     // mean time between failures of the whole job; infinite: nothing fails
};

// The expected time of a cycle, and its parts.
struct CycleTime {
  Seconds work, stall;
  Seconds lost;         // steps and saves that failures undid and that are made again
  Seconds restart;      // all restarts of a cycle, also those that failed
  double failures = 0;  // of steps, saves and restarts
  [[nodiscard]] Seconds total() const { return work + stall + lost + restart; }
  // Share of the time that makes progress.
  [[nodiscard]] double goodput() const { return work / total(); }
};

// Times are infinite where failures come too often for any progress (exponents beyond 700).
[[nodiscard]] CycleTime expected_cycle(const SaveCycle&);

// The expected time of a restart that failures may interrupt: (exp(restart / mtbf) - 1) mtbf.
[[nodiscard]] Seconds expected_restart(Seconds restart, Seconds mtbf);

// By how much each cycle adds to the variance (s^2) and to the third central moment (s^3) of the
// finish time. The variance is exact for many cycles. The third moment is exact for rare failures
// (a compound Poisson process).
[[nodiscard]] double cycle_variance(const SaveCycle&);
[[nodiscard]] double cycle_third_moment(const SaveCycle&);

}  // namespace pleat
