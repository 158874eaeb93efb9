// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Cost of a stage's chunks: each distinct layer priced once, then added up along the chunk.
#pragma once

#include <functional>
#include <vector>

#include "core/program/pair_positions.hpp"
#include "core/program/program.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

struct StageCosts {
  std::vector<LayerCosts> layers;             // by StageProgram::layers
  std::vector<PassCost> forward, backward;    // by chunk
  std::vector<PassCost> input, weight;        // by chunk, where backward passes are split
  std::vector<PassCost> pairs;                // [forward chunk * vpp + backward chunk]; or empty
  [[nodiscard]] const PassCost& pass(Pass p, ChunkId c) const {
    return (p == Pass::forward ? forward : backward)[c.index()];
  }
  [[nodiscard]] const PassCost& of(const Slot& slot) const {
    if (slot.part == SlotPart::whole) return pass(slot.pass, slot.chunk);
    return (slot.part == SlotPart::input_gradients ? input : weight)[slot.chunk.index()];
  }
  [[nodiscard]] const PassCost& pair(ChunkId f, ChunkId b) const {
    return pairs[f.index() * forward.size() + b.index()];
  }
};

// Price of a forward layer beside a backward one, both indices into StageProgram::layers.
using PairSource = std::function<PassCost(std::size_t forward, std::size_t backward)>;

// Adds layers up along the chunks. With `pair` also pairs of chunks, the i-th decoder layer from the
// front of one with the i-th from the back of the other; what has no partner runs alone.
[[nodiscard]] StageCosts sum_stage(const StageProgram&, std::vector<LayerCosts> layers,
                                   const PairSource& pair = {});

// Total of one cost followed by another.
void append(PassCost& total, const PassCost& next);

}  // namespace pleat
