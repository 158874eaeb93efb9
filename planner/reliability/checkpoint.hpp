// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds and how long it blocks the step loop.
#pragma once

#include <cstdint>

#include "core/plan/plan.hpp"
#include "core/quantity.hpp"

namespace pleat {

// A checkpoint holds for each parameter, once and however it is sharded, the weight as it is
// trained, the optimizer's copy of it and two moments. bf16 with fp32 states: 2 + 4 + 8 = 14 bytes.
// fp32 needs no copy: 4 + 8 = 12. Weights of the fp8 formats are saved in bf16.
[[nodiscard]] std::int64_t checkpoint_bytes_per_parameter(Precision, const OptimizerPlan&);

struct SaveTimes {
  Seconds stall;   // training waits
  Seconds upload;  // after that, the checkpoint is written while training goes on
};

// Every rank writes its share to storage, and training waits. `fixed` is the time for barriers and
// metadata, whatever the size.
[[nodiscard]] SaveTimes blocking_save(Bytes checkpoint, BytesPerSecond storage, Seconds fixed);

// Every rank copies its share to host memory. From there another process writes it.
[[nodiscard]] SaveTimes background_save(Bytes checkpoint, int gpus, BytesPerSecond host_link,
                                        BytesPerSecond storage, Seconds fixed);

// How often to save: two classical intervals, and the one that is exact for failures at random
// (exponentially distributed). In all of them `stall` is the time that training waits for a save,
// `mtbf` the mean time between failures of the whole job, and `restart` the time to notice a
// failure, start again and load (docs/MODEL.md section 12).

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
