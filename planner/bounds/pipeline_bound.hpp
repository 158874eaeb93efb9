// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// When the stages of a pipeline are done at the earliest, from what their chunks take at least.
#pragma once

#include <span>
#include <vector>

#include "core/program/pipeline_order.hpp"
#include "core/quantity.hpp"

namespace pleat {

// One chunk of one microbatch, by Pass. `alone`: how much more a pass takes where it is not paired.
// `half`: what input gradients and weight gradients take at least by themselves, where they run apart.
struct ChunkBound {
  Seconds pass[2];
  Seconds alone[2];
  Seconds half[2] = {};
};

// By stage. `chunks`: [stage * chunks_of_stage + chunk]; `transfer`: of a tensor between stages. Of
// schedules that split backward passes the work of each stage counts after the way to it, or what lies
// between the ways of the first and the last microbatch. `schedule.paired` makes no difference: what it changes is in `alone`. Without that, no multiple of
// full groups of PP ends later than PP: more passes count to the warm-up and less between.
// `order`: of schedules that split backward passes, if it is known already (split_order.hpp).
struct SplitOrder;
[[nodiscard]] std::vector<Seconds> earliest_finish(Schedule, std::span<const ChunkBound> chunks,
                                                   Seconds transfer,
                                                   const SplitOrder* order = nullptr);

// Chunks that a stage has run forward and not yet backward, by chunk, at moments between slots: those
// at which it holds most, of each stage.
using HeldChunks = std::vector<std::vector<std::vector<std::int64_t>>>;  // [stage][moment][chunk]
[[nodiscard]] HeldChunks held_chunks(const Schedule&);

// Chunks of the first `slots` forward passes of a stage, or of its last backward ones, by chunk
// (pipeline_order.cpp). Empty where groups of microbatches are not full.
[[nodiscard]] std::vector<std::int64_t> first_chunks(const Schedule&, std::int64_t slots);

}  // namespace pleat
