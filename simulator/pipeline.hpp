// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The event simulation behind simulate_pipeline, with start times and paired slots.
#pragma once

#include <vector>

#include "simulator/estimate.hpp"

namespace pleat {

struct PipelineInput {
  int pp = 1, vpp = 1, microbatches = 1;
  std::vector<const std::vector<Slot>*> orders{};          // by stage
  const std::vector<std::vector<ChunkTimes>>* times = nullptr;  // [stage][chunk]
  // [stage][forward chunk * vpp + backward chunk]: a forward and the backward after it as one op
  // that needs both inputs, for slots marked with_next. Empty: such
  // slots run one after the other.
  std::vector<std::vector<Seconds>> pairs{};
  std::vector<Seconds> start{};                            // by stage; empty: all zero
  Seconds transfer{};                                      // between neighbouring virtual stages
  bool keep_events = false;
};

// O(pp * vpp * microbatches).
[[nodiscard]] PipelineTiming run_pipeline(const PipelineInput&);

}  // namespace pleat
