// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How often to save: two classical intervals, and the one that is exact for failures at random
// (exponentially distributed). In all of them `stall` is the time that training waits for a save,
// `mtbf` the mean time between failures of the whole job, and `restart` the time to notice a
// failure, start again and load (docs/MODEL.md section 12).
#pragma once

#include "core/quantity.hpp"

namespace pleat {

// Young 1974, the first order: sqrt(2 mtbf stall).
[[nodiscard]] Seconds young_interval(Seconds stall, Seconds mtbf);

// Daly 2006, a higher order: the work between two saves, for stall < 2 mtbf.
[[nodiscard]] Seconds daly_interval(Seconds stall, Seconds mtbf);

// The work between two saves for which the run is expected to be shortest: where (exp((work +
// stall) / mtbf) - 1) / work is least. Restarts and uploads multiply this by constants, which do
// not move the minimum. Infinite for an infinite mtbf, 0 for a stall of 0.
[[nodiscard]] Seconds renewal_interval(Seconds stall, Seconds mtbf);

// The share of the time that failures cost, to first order: (restart + interval / 2) / mtbf. Up to
// about 0.25, first-order formulas of the whole time are good to 1.4%; beyond, they are up to 30%
// wrong.
[[nodiscard]] double recovery_pressure(Seconds mtbf, Seconds restart, Seconds interval);

}  // namespace pleat
