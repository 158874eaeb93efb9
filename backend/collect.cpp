// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/collect.hpp"

#include <algorithm>

#include "backend/init.hpp"

namespace pleat {
namespace {

// Copies the part of the bucket's range [offset, …) that lies in [begin, begin + elements).
void add_range(std::int64_t offset, const std::vector<float>& values, std::int64_t begin,
               std::int64_t elements, std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(elements));
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t first = std::max(begin, offset);
  const std::int64_t last = std::min(begin + elements, offset + size);
  if (first >= last) return;
  std::copy_n(values.begin() + (first - offset), last - first, to.begin() + (first - begin));
}

}  // namespace

RankTensors rank_tensors(Executor& executor) {
  RankTensors mine;
  for (const Bucket b : {Bucket::dense, Bucket::expert}) mine.weights[b] = executor.weights(b);
  mine.gradients = executor.gradient_shards();
  return mine;
}

void collect_tensors(const StageProgram& stage, int ep_rank, const RankTensors& mine,
                     TrainResult& result) {
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const WeightSlot& slot = instance.slots[w];
        const auto gradients = mine.gradients.find(slot.bucket);
        for (const NamedPart& p : named_parts(layer, instance, layer.weights[w], ep_rank)) {
          const std::int64_t begin = slot.offset + p.offset;
          add_range(0, mine.weights.at(slot.bucket), begin, p.elements, result.weights[p.name]);
          if (layer.weights[w].buffer || gradients == mine.gradients.end()) continue;
          add_range(gradients->second.offset, gradients->second.values, begin, p.elements,
                    result.gradients[p.name]);
        }
      }
    }
  }
}

}  // namespace pleat
