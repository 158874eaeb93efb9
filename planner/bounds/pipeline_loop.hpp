// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B whose chunks are unequal: between warm-up and cool-down it takes longer than the
// work of any one stage, because stages wait for the long chunks of one another in turn.
#pragma once

#include <span>

#include "planner/bounds/pipeline_bound.hpp"

namespace pleat {

// A round is the slots of a group of microbatches through all chunks of a stage. The stage runs
// `rounds` of them, at least, whose neighbours on other stages are neither in warm-up nor in
// cool-down; each takes this much longer than the stage's own passes, at least.
struct LongerRounds {
  std::int64_t rounds = 0;
  Seconds longer;
  [[nodiscard]] Seconds total() const { return longer * static_cast<double>(rounds); }
};

// How many such rounds there are.
[[nodiscard]] std::int64_t steady_rounds(const Schedule&, Stage);

// Groups of microbatches must be full. Without `schedule.paired` it holds for paired schedules too.
// O(stages * slots of a round).
[[nodiscard]] LongerRounds longer_rounds(const Schedule&, std::span<const ChunkBound> chunks,
                                         Seconds transfer, Stage);

}  // namespace pleat
