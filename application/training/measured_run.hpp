// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a run of the backend measured, and what the memory model says for the routing that it
// recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/trainer.hpp"

namespace pleat {

// The most bytes that any rank held, of its device and of its host.
[[nodiscard]] std::int64_t measured_peak(const TrainResult&);
[[nodiscard]] std::int64_t measured_host_peak(const TrainResult&);

// The routed counts of a rank's last step, by microbatch and layer; it outlives them.
[[nodiscard]] RoutedCount recorded_routing(const RankMeasurement&);

// The memory model's answer for the routed counts that the run recorded in its last step: the most
// over the ranks. Equals measured_peak to the byte for a run of one step.
// `host`: the same of host memory.
[[nodiscard]] std::int64_t recorded_peak(const Program&, const TrainResult&, bool host = false);

// Median of the steps' times; the first step warms up and is left out if there are more.
[[nodiscard]] Seconds median_step(const std::vector<StepRecord>&);

}  // namespace pleat
