// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Orders of a pipeline that split backward passes, as their bound sees them: what each stage runs
// between the slots that must wait for other stages.
#pragma once

#include <span>
#include <vector>

#include "planner/bounds/pipeline_bound.hpp"

namespace pleat {

// A slot of a stage that something outside of the stage holds up, and the slots from it to the next
// such one.
struct OrderSegment {
  enum class Begin : std::uint8_t { first_forward, first_backward, last_forward, last_backward };
  struct Count {
    std::int32_t forward = 0, whole = 0, input = 0, weight = 0;
  };
  std::int64_t slot = 0;  // of the stage's order
  Begin begin = Begin::first_forward;
  int chunk = 0;             // whose slot it is
  std::vector<Count> count;  // by chunk
};

struct SplitOrder {
  std::vector<std::vector<OrderSegment>> stages;  // in order
  // The chunks that a microbatch passes, as stage * chunks + chunk: one way, or DualPipe's two.
  std::vector<std::vector<int>> ways;
  int chunks = 1;
};
[[nodiscard]] SplitOrder split_order(const Schedule&);

// When each stage is done at the earliest. A first slot waits for the way of its microbatch to the
// chunk, the last backward one also for the way from the end of the last forward one to the pipeline's
// end and back; between them a stage runs its slots one after the other. O(stages * chunks^2).
[[nodiscard]] std::vector<Seconds> earliest_finish(const SplitOrder&,
                                                   std::span<const ChunkBound> chunks,
                                                   Seconds transfer);

}  // namespace pleat
