// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory over a step. For every stage: the memory that it holds for the whole step, by kind, and
// after every slot the activations that are kept for backward passes, by the module that wrote
// them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "simulator/stage_memory.hpp"

namespace pleat {

inline constexpr std::size_t kModules = static_cast<std::size_t>(Module::pipeline) + 1;
using ModuleBytes = std::array<std::int64_t, kModules>;  // by Module

// One slot, or a pair of slots that run together.
struct MemoryMoment {
  Slot slot;            // of a pair: the forward slot
  bool paired = false;
  Seconds start, end;
  std::int64_t peak = 0;  // activations and transients at the highest point within, bytes
  std::int64_t live = 0;  // activations at its end, bytes
  ModuleBytes kept{};  // `live` by module; a split backward pass frees with its last part
  [[nodiscard]] std::int64_t kept_bytes() const;
};

struct StageMemoryTimeline {
  Stage stage;
  StateBytes state;             // for the whole step, host memory apart
  RuntimeBytes runtime;
  std::vector<MemoryMoment> moments;  // in order of time
  std::int64_t step_peak = 0;   // of the optimizer's step, beside the state
};

[[nodiscard]] std::vector<StageMemoryTimeline> memory_timeline(const Program&, const ClusterSpec&,
                                                               const Profile&);
[[nodiscard]] std::string memory_timeline_json(const std::vector<StageMemoryTimeline>&,
                                               const Program&);

}  // namespace pleat
