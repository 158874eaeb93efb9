// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Live bytes along one pass of a layer, from its lifetimes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/program/passes/pair.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

// Bytes born before and freed after each op of a pass. The layer's output and grad_input are born
// here and freed by the neighbour; its input and grad_output the other way round.
struct OpBytes {
  std::vector<std::int64_t> born, freed;
  // A paged stash: what copies to it after the forward pass add, or those back before the backward
  // one, and their highest point.
  MemoryDelta copies;
};
[[nodiscard]] OpBytes op_bytes(const LayerProgram&, Pass, const Binding&);

// The trajectory when ops run in the order of `steps`.
[[nodiscard]] MemoryDelta memory_along(std::span<const PairStep> steps, const OpBytes& forward,
                                       const OpBytes& backward);

// What happens after `first` starts where it ended.
[[nodiscard]] MemoryDelta then(const MemoryDelta& first, const MemoryDelta& second);

}  // namespace pleat
