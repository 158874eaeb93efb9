// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory of one stage over its step: what lives for the whole step, and the highest point of the
// rest.
#pragma once

#include "core/program/program.hpp"
#include "simulator/chunk_costs.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

// State tensors that exist for the whole step, by class, in bytes.
struct StateBytes {
  std::int64_t weights = 0, gradients = 0, optimizer = 0, other = 0;
  [[nodiscard]] std::int64_t total() const { return weights + gradients + optimizer + other; }
};
[[nodiscard]] StateBytes state_bytes(const StageProgram&);

// The epilogue's trajectory above the state: step scratch, and state that dies there.
[[nodiscard]] MemoryDelta epilogue_memory(const StageProgram&);

// Replays the slots with per-chunk trajectories: O(slots). Same result as peak_live_bytes when
// every microbatch and layer routes the capacity the costs were priced with.
[[nodiscard]] StageMemory stage_memory(const StageProgram&, const StageCosts&,
                                       std::int64_t runtime_buffers);

// Bytes outside the program that a runtime holds on one GPU of this stage (docs/MODEL.md section
// 3). Pleat holds none. Megatron: CUDA context, NCCL buffers, torch workspaces, dummy weight
// gradients, HybridEP's registered buffer. Rules of thumb, not measurements.
[[nodiscard]] std::int64_t runtime_buffer_bytes(const Program&, const StageProgram&);

}  // namespace pleat
