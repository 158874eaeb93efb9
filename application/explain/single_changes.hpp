// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans that differ from one plan in a single decision, on the same GPUs.
#pragma once

#include <string>
#include <vector>

#include "application/target.hpp"

namespace pleat {

struct SingleChange {
  std::string text;         // "micro-batch 1 -> 2"
  Plan plan;                // satisfies every named rule
  bool arithmetic = false;  // other number formats: the run is no longer the same training
};

// Degrees doubled and halved (data parallelism takes up the difference; PP also with VPP the other
// way, and with both layouts a search would try), the order of slots, microbatches, recompute and
// offload sets one module larger or smaller, whole-layer recompute, dispatcher, overlap, CUDA
// graphs, sharding, number formats. Only what the rules allow and, for number formats, the GPU
// computes in.
[[nodiscard]] std::vector<SingleChange> single_changes(const Target&, const Plan&);

}  // namespace pleat
