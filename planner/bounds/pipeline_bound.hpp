// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The earliest time at which each pipeline stage can be done, given lower bounds for its chunks.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "core/program/pipeline_order.hpp"
#include "core/quantity.hpp"

namespace pleat {

// The least times of one chunk for one microbatch. `pass`: forward and backward. `alone`: how much
// more each takes in a slot that is not paired. `half`: input gradients and weight gradients, where
// the schedule splits the backward pass.
struct ChunkBound {
  Seconds pass[2];
  Seconds alone[2];
  Seconds half[2] = {};
  // Decoder layers, which run in pairs with those of another chunk, and how much more one of them
  // takes at least that has no partner there.
  int layers = 0;
  Seconds least_alone[2] = {};
};

// What is known of the passes of interleaved and plain 1F1B.
struct PassOrder {
  // A stage waits for what it sends, as ScheduleTable has it.
  bool waits_for_sends = false;
  // The passes run in pairs, of which ChunkBound::alone is the other side. Else they may.
  bool paired = false;
  // The bound must hold for smaller groups, too, of PP times a power of two. No pairs are known.
  bool smaller_groups = false;
  // A bound above the cutoff need not be tighter, and one that stays far below neither. `step`: of
  // the whole step without what is dear to work out; zero: not known.
  struct Near {
    Seconds cutoff{std::numeric_limits<double>::infinity()}, step;
  };
  Near near = {};
};

// The earliest finish of each stage. `chunks` is indexed by stage * chunks_of_stage + chunk;
// `transfer` is the time of one tensor between stages. Where backward passes are split, a stage
// finishes no earlier than the first microbatch can reach it plus all its work, and no earlier than
// the first microbatch's way there and back plus the slots until the last microbatch's way back;
// `order` is that schedule's order if the caller has it (split_order.hpp). `schedule.paired` is not
// read: callers put its effect into `alone`.
struct SplitOrder;
[[nodiscard]] std::vector<Seconds> earliest_finish(Schedule, std::span<const ChunkBound> chunks,
                                                   Seconds transfer,
                                                   const SplitOrder* order = nullptr,
                                                   const PassOrder& = {});

// How many microbatches of each chunk a stage has run forward but not yet backward, at the moments
// between slots when the stage holds the most.
using HeldChunks = std::vector<std::vector<std::vector<std::int64_t>>>;  // [stage][moment][chunk]
[[nodiscard]] HeldChunks held_chunks(const Schedule&);

// How often each chunk is among a stage's first `slots` forward passes, which is also how often it
// is among its last backward ones (pipeline_order.cpp). Empty if the last group of microbatches is
// not full.
[[nodiscard]] std::vector<std::int64_t> first_chunks(const Schedule&, std::int64_t slots);

}  // namespace pleat
