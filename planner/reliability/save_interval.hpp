// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How often to save: the classical intervals, and the one that is exact for exponential failures.
// Everywhere: stall = time the step loop is blocked by a save, mtbf = mean time between failures of
// the whole job, restart = detect, start again and load (docs/MODEL.md section 12).
#pragma once

#include "core/quantity.hpp"

namespace pleat {

// First order: sqrt(2 mtbf stall). Young 1974.
[[nodiscard]] Seconds young_interval(Seconds stall, Seconds mtbf);

// Work between saves to a higher order, for stall < 2 mtbf. Daly 2006.
[[nodiscard]] Seconds daly_interval(Seconds stall, Seconds mtbf);

// Work between saves with the least expected time per work: the minimum of
// (exp((work + stall) / mtbf) - 1) / work. Restarts and uploads multiply that by constants, so they
// do not move it. Infinite for an infinite mtbf, 0 for a stall of 0.
[[nodiscard]] Seconds renewal_interval(Seconds stall, Seconds mtbf);

// Share of time that failures cost to first order: (restart + interval / 2) / mtbf. First-order
// formulas of the whole time are good to 1.4% up to about 0.25 and wrong by 30% beyond.
[[nodiscard]] double recovery_pressure(Seconds mtbf, Seconds restart, Seconds interval);

}  // namespace pleat
