// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds and how long it blocks the step loop.
#pragma once

#include <cstdint>

#include "core/plan/plan.hpp"
#include "core/quantity.hpp"

namespace pleat {

// Weights as trained, the optimizer's own copy and two moments; every parameter once, whatever the
// sharding. bf16 with fp32 states: 2 + 4 + 8 = 14. fp32 has no copy: 4 + 8. The fp8 kinds are saved
// in bf16.
[[nodiscard]] std::int64_t checkpoint_bytes_per_parameter(Precision, const OptimizerPlan&);

struct SaveTimes {
  Seconds stall;   // the loop is blocked
  Seconds upload;  // afterwards, beside the loop
};

// Every rank writes to storage and waits; "fixed" is for barriers and metadata.
[[nodiscard]] SaveTimes blocking_save(Bytes checkpoint, BytesPerSecond storage, Seconds fixed);

// Every rank copies its share to host memory, a process beside the loop writes it.
[[nodiscard]] SaveTimes background_save(Bytes checkpoint, int gpus, BytesPerSecond host_link,
                                        BytesPerSecond storage, Seconds fixed);

}  // namespace pleat
