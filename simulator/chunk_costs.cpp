// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Chunks and pairs of chunks as sums over their layers.
#include "simulator/chunk_costs.hpp"

#include <algorithm>
#include <utility>

#include "simulator/layer_memory.hpp"

namespace pleat {
namespace {

bool same_programs(const ChunkProgram& a, const ChunkProgram& b) {
  return std::ranges::equal(a.instances, b.instances,
                            [](const auto& x, const auto& y) { return x.program == y.program; });
}

}  // namespace

void append(PassCost& total, const PassCost& next) {
  total.time += next.time;
  for (std::size_t i = 0; i < kCostClasses; ++i) total.parts[i] += next.parts[i];
  total.memory = then(total.memory, next.memory);
  total.source = std::max(total.source, next.source);
}

StageCosts sum_stage(const StageProgram& stage, std::vector<LayerCosts> layers,
                     const PairSource& pair) {
  StageCosts costs;
  costs.layers = std::move(layers);
  const auto program_at = [&](std::size_t chunk, int position) {
    const auto& instances = stage.chunks[chunk].instances;
    return static_cast<std::size_t>(instances[static_cast<std::size_t>(position)].program);
  };
  const std::size_t chunks = stage.chunks.size();
  const bool splits = std::ranges::any_of(
      stage.layers, [](const LayerProgram& layer) { return layer.weight_ops.has_value(); });
  for (std::size_t c = 0; c < chunks; ++c) {
    PassCost forward, backward;
    const int count = static_cast<int>(stage.chunks[c].instances.size());
    for (int i = 0; i < count; ++i) append(forward, costs.layers[program_at(c, i)].forward);
    for (int i = count - 1; i >= 0; --i) append(backward, costs.layers[program_at(c, i)].backward);
    costs.forward.push_back(forward);
    costs.backward.push_back(backward);
    if (!splits) continue;
    PassCost input, weight;
    for (int i = count - 1; i >= 0; --i) {
      append(input, costs.layers[program_at(c, i)].input);
      append(weight, costs.layers[program_at(c, i)].weight);
    }
    costs.input.push_back(input);
    costs.weight.push_back(weight);
  }
  if (!pair) return costs;

  // Chunks of the same layers pair alike.
  std::vector<std::size_t> alike(chunks);
  for (std::size_t c = 0; c < chunks; ++c) {
    while (!same_programs(stage.chunks[alike[c]], stage.chunks[c])) ++alike[c];
  }
  costs.pairs.resize(chunks * chunks);
  for (std::size_t f = 0; f < chunks; ++f) {
    for (std::size_t b = 0; b < chunks; ++b) {
      PassCost& total = costs.pairs[f * chunks + b];
      if (alike[f] != f || alike[b] != b) {
        total = costs.pairs[alike[f] * chunks + alike[b]];
        continue;
      }
      const ChunkId fc{static_cast<int>(f)}, bc{static_cast<int>(b)};
      for (const PairedPosition& at : pair_positions(stage, fc, bc)) {
        if (at.backward < 0) {
          append(total, costs.layers[program_at(f, at.forward)].forward);
        } else if (at.forward < 0) {
          append(total, costs.layers[program_at(b, at.backward)].backward);
        } else {
          append(total, pair(program_at(f, at.forward), program_at(b, at.backward)));
        }
      }
    }
  }
  return costs;
}

}  // namespace pleat
