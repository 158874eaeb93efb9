// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/optimizer/weight_decay.hpp"

#include "backend/init.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

bool decays(const LayerProgram& layer, const Weight& weight, bool tables_decay) {
  if (initial_value(layer, weight) != InitialValue::normal) return false;  // of norms, biases
  const bool table = is_table(layer, weight) || layer.tensor(weight.weight).name == "W.positions";
  return tables_decay || !table;
}

}  // namespace

UndecayedRanges undecayed_ranges(const StageProgram& stage, bool tables_decay) {
  UndecayedRanges all(stage.buckets.size());
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const Weight& w = layer.weights[i];
        if (w.buffer || decays(layer, w, tables_decay)) continue;
        const WeightSlot& slot = instance.slots[i];
        all[static_cast<std::size_t>(slot.bucket)].push_back({slot.offset, w.elements});
      }
    }
  }
  for (std::vector<ElementRange>& ranges : all) {
    std::ranges::sort(ranges, {}, &ElementRange::first);
    std::vector<ElementRange> joined;
    for (const ElementRange& r : ranges) {
      if (joined.empty() || r.first > joined.back().end()) {
        joined.push_back(r);
      } else {  // a neighbour, or a table that several layers have
        joined.back().elements = std::max(joined.back().end(), r.end()) - joined.back().first;
      }
    }
    ranges = std::move(joined);
  }
  return all;
}

}  // namespace pleat
