// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layouts for pipeline ranks with several chunks each. A rank's time is that of all its chunks
// together, so chunks may differ in size where that makes the ranks more alike.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/layout.hpp"
#include "core/program/pipeline_order.hpp"
#include "core/spec/model.hpp"
#include "planner/layout/stage_balance.hpp"

namespace pleat {

// Which chunks of a rank get one layer less where its layers do not divide.
enum class LighterChunks : std::uint8_t { first, last };

// Gives the layers, one after the other, to the rank that has the fewest forward FLOPs so far, and
// there to the chunk that has the fewest. All layers count as the mean one; the loss and the
// prediction layers lie on the last virtual stage. A stage may hold no layer. Empty where a stage
// is on two ranks (DualPipe).
[[nodiscard]] std::vector<VirtualStage> rank_balanced_layout(const ModelSpec&, std::int64_t seq_len,
                                                             const Schedule&, LighterChunks);

// The forward FLOPs of a microbatch on the busiest rank, of all its chunks.
[[nodiscard]] Flops busiest_rank_flops(const std::vector<VirtualStage>&, const ModelSpec&,
                                       const ForwardFlops&, const Schedule&);

}  // namespace pleat
