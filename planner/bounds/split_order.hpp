// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules that split backward passes (zero-bubble, DualPipe), reduced to what their
// bound needs: the slots that wait for other stages, and how much a stage runs between them.
#pragma once

#include <span>
#include <vector>

#include "planner/bounds/pipeline_bound.hpp"

namespace pleat {

// A slot that waits for another stage, with the number of slots from it to the next such slot.
struct OrderSegment {
  enum class Begin : std::uint8_t { first_forward, first_backward, last_forward, last_backward };
  struct Count {
    std::int32_t forward = 0, whole = 0, input = 0, weight = 0;
  };
  std::int64_t slot = 0;  // its place in the stage's order
  Begin begin = Begin::first_forward;
  int chunk = 0;             // that it runs
  std::vector<Count> count;  // by chunk
};

struct SplitOrder {
  std::vector<std::vector<OrderSegment>> stages;  // in order
  // The routes of microbatches through the pipeline, as stage * chunks + chunk: one, or DualPipe's
  // two.
  std::vector<std::vector<int>> ways;
  int chunks = 1;
};
[[nodiscard]] SplitOrder split_order(const Schedule&);

// The earliest finish of each stage. A first slot waits until its microbatch can have reached the
// chunk; the last backward slot also waits until the last microbatch can have gone from its forward
// slot to the end of the pipeline and back. Between those, a stage runs its slots one after the
// other. O(stages * chunks^2).
[[nodiscard]] std::vector<Seconds> earliest_finish(const SplitOrder&,
                                                   std::span<const ChunkBound> chunks,
                                                   Seconds transfer);

}  // namespace pleat
