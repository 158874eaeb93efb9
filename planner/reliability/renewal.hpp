// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Time that a run takes under exponential failures, exactly: a save is a renewal point, a failure
// goes back to the last save that is durable, and failures hit restarts too (docs/MODEL.md
// section 12). Valid for any failure rate, unlike the first-order formulas.
#pragma once

#include "core/quantity.hpp"

namespace pleat {

// One round of the step loop: work, then a save.
struct SaveCycle {
  Seconds work;     // useful time between two saves, above 0
  Seconds stall;    // the loop is blocked by the save
  Seconds upload;   // from the end of the stall until the save is durable, at most work; 0: in it
  Seconds restart;  // one recovery, if no further failure hits it
  Seconds mtbf;     // of the whole job; infinite: nothing fails
};

// Expected times of a cycle; work + stall + lost + restart is the whole.
struct CycleTime {
  Seconds work, stall;
  Seconds lost;         // steps and saves that were done and are done again
  Seconds restart;      // all restarts of a cycle, interrupted ones included
  double failures = 0;  // all, those during restarts included
  [[nodiscard]] Seconds total() const { return work + stall + lost + restart; }
  // Share of the time that makes progress.
  [[nodiscard]] double goodput() const { return work / total(); }
};

// Times are infinite where failures are too frequent to make progress (exponents beyond 700).
[[nodiscard]] CycleTime expected_cycle(const SaveCycle&);

// Time of one restart that failures may interrupt: (exp(restart / mtbf) - 1) mtbf.
[[nodiscard]] Seconds expected_restart(Seconds restart, Seconds mtbf);

// Growth of the variance and of the third central moment of the finish time with each cycle, s^2 and
// s^3. The variance is exact for many cycles; the third moment is that of rare failures (compound
// Poisson).
[[nodiscard]] double cycle_variance(const SaveCycle&);
[[nodiscard]] double cycle_third_moment(const SaveCycle&);

}  // namespace pleat
