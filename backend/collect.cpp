// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/collect.hpp"

#include <algorithm>

#include "backend/init.hpp"

namespace pleat {
namespace {

// Copies the part of the bucket's range [from.offset, …) that lies in [begin, begin + elements).
void add_range(const GradientShard& from, std::int64_t begin, std::int64_t elements,
               std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(elements));
  const auto size = static_cast<std::int64_t>(from.values.size());
  const std::int64_t first = std::max(begin, from.offset);
  const std::int64_t last = std::min(begin + elements, from.offset + size);
  if (first >= last) return;
  std::copy_n(from.values.begin() + (first - from.offset), last - first,
              to.begin() + (first - begin));
}

}  // namespace

void collect_tensors(const StageProgram& stage, int ep_rank, Executor& executor,
                     TrainResult& result) {
  const GradientShard weights[2] = {{0, executor.weights(Bucket::dense)},
                                    {0, executor.weights(Bucket::expert)}};
  const auto& gradients = executor.gradient_shards();
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const WeightSlot& slot = instance.slots[w];
        const auto mine = gradients.find(slot.bucket);
        for (const NamedPart& p : named_parts(layer, instance, layer.weights[w], ep_rank)) {
          const std::int64_t begin = slot.offset + p.offset;
          add_range(weights[static_cast<std::size_t>(slot.bucket)], begin, p.elements,
                    result.weights[p.name]);
          if (layer.weights[w].buffer || mine == gradients.end()) continue;
          add_range(mine->second, begin, p.elements, result.gradients[p.name]);
        }
      }
    }
  }
}

}  // namespace pleat
