// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/collect.hpp"

#include <algorithm>

#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// Copies what a rank holds of a part that begins at `begin` of the bucket.
void add_ranges(const std::vector<BucketRange>& ranges, std::int64_t begin, const NamedPart& part,
                std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(part.whole));
  for (const BucketRange& range : ranges) {
    const auto size = static_cast<std::int64_t>(range.values.size());
    for (const WeightRun& run : part.runs) {
      const std::int64_t at = begin + run.local;
      const std::int64_t first = std::max(at, range.offset);
      const std::int64_t last = std::min(at + run.elements, range.offset + size);
      if (first >= last) continue;
      std::copy_n(range.values.begin() + (first - range.offset), last - first,
                  to.begin() + run.whole + (first - at));
    }
  }
}

}  // namespace

RankTensors rank_tensors(Executor& executor) {
  RankTensors mine;
  for (std::size_t i = 0; i < executor.stage().buckets.size(); ++i) {
    const auto b = static_cast<Bucket>(i);
    mine.weights[b] = executor.weights(b);
    mine.buffers[b] = executor.buffers(b);
  }
  mine.gradients = executor.gradient_shards();
  return mine;
}

void collect_tensors(const StageProgram& stage, const WeightRank& rank, const RankTensors& mine,
                     TrainResult& result) {
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        if (is_load(layer, layer.weights[w])) continue;  // a step's own
        const WeightSlot& slot = instance.slots[w];
        const BucketState& bucket = stage.buckets[static_cast<std::size_t>(slot.bucket)];
        const std::int64_t padded = bucket.shards * bucket.shard_elements;
        const auto gradients = mine.gradients.find(slot.bucket);
        for (const NamedPart& p : named_parts(layer, instance, layer.weights[w], rank)) {
          const std::int64_t begin = slot.offset + p.offset;
          const bool buffer = layer.weights[w].buffer;
          if (buffer) {
            const std::vector<BucketRange> behind{{padded, mine.buffers.at(slot.bucket)}};
            add_ranges(behind, begin, p, result.weights[p.name]);
            continue;
          }
          add_ranges(mine.weights.at(slot.bucket), begin, p, result.weights[p.name]);
          if (gradients == mine.gradients.end()) continue;
          add_ranges(gradients->second, begin, p, result.gradients[p.name]);
        }
      }
    }
  }
}

}  // namespace pleat
