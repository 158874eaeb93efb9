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

}  // namespace pleat
