// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The parameters of a bucket whose norms LAMB's step needs.
#include <algorithm>

#include "core/program/optimizer_step.hpp"

namespace pleat {

std::vector<ParameterRange> parameters_of(const StageProgram& stage, std::size_t bucket) {
  std::vector<ParameterRange> all;
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const Weight& w = layer.weights[i];
        if (w.buffer || static_cast<std::size_t>(instance.slots[i].bucket) != bucket) continue;
        const bool experts = w.bucket == Bucket::expert;
        const std::int64_t count = experts ? layer.tensor(w.weight).shape.front().n : 1;
        for (std::int64_t e = 0; e < count; ++e) {
          const std::int64_t each = w.elements / count;
          all.push_back({instance.slots[i].offset + e * each, each});
        }
      }
    }
  }
  std::ranges::sort(all, {}, &ParameterRange::first);
  // a table of several layers
  const auto again = std::ranges::unique(all, {}, &ParameterRange::first);
  all.erase(again.begin(), again.end());
  return all;
}

}  // namespace pleat
