// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A run's step time and memory beside what was predicted of them.
#pragma once

#include <cstdint>
#include <string>

#include "application/processes/devices.hpp"
#include "application/target.hpp"
#include "backend/trainer.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

// Bytes of the fullest rank; recorded: predicted for the routing that the run recorded.
struct RunComparison {
  StepEstimate predicted;
  Seconds measured;
  std::int64_t measured_bytes = 0, recorded_bytes = 0;
  std::int64_t host_bytes = 0, recorded_host_bytes = 0;      // of a rank
  std::int64_t device_bytes = 0, recorded_device_bytes = 0;  // of a GPU
};

[[nodiscard]] RunComparison compare_run(const Program&, const StepEstimate& predicted,
                                        const TrainResult&);
// Of the fullest rank, where each has one of `gpus` for itself: drivers count a GPU's ranks
// together. `context`: what a process holds of a GPU beside its tensors, as the profile knows it.
void set_device_bytes(RunComparison&, const Program&, const TrainResult&, const DeviceOptions&,
                      int gpus, Bytes context);

[[nodiscard]] std::string to_text(const RunComparison&);
[[nodiscard]] std::string to_json(const RunComparison&, const Request&, const TrainResult&);

}  // namespace pleat
