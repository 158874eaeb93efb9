// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/collect.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/program/amax_buffers.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
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

// Copies what a rank holds of a part, and compares it where another rank had it before.
void TensorCollector::add_part(const char* kind, const Place& place, const NamedPart& part,
                               std::map<std::string, std::vector<float>>& to) {
  std::vector<float>& whole = to[part.name];
  const std::string name = std::string(kind) + "/" + part.name;
  std::vector<bool>& known = known_[name];
  whole.resize(static_cast<std::size_t>(part.whole));
  known.resize(whole.size());
  for (const BucketRange& range : place.from) {
    const auto size = static_cast<std::int64_t>(range.values.size());
    for (const WeightRun& run : part.runs) {
      const std::int64_t at = place.begin + run.local;
      const std::int64_t first = std::max(at, range.offset);
      const std::int64_t last = std::min(at + run.elements, range.offset + size);
      for (std::int64_t e = first; e < last; ++e) {
        const float value = range.values[static_cast<std::size_t>(e - range.offset)];
        const auto i = static_cast<std::size_t>(run.whole + (e - at));
        const bool same =
            std::bit_cast<std::uint32_t>(whole[i]) == std::bit_cast<std::uint32_t>(value);
        if (known[i] && !same) result_.unequal_copies.insert(name);
        known[i] = true;
        whole[i] = value;
      }
    }
  }
}

void TensorCollector::add(const StageProgram& stage, const WeightRank& rank,
                          const RankTensors& mine) {
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const Weight& weight = layer.weights[w];
        if (is_load(layer, weight) || is_amax(layer, weight)) continue;  // a step's own
        const WeightSlot& slot = instance.slots[w];
        const BucketState& bucket = stage.buckets[static_cast<std::size_t>(slot.bucket)];
        const std::int64_t padded = bucket.shards * bucket.shard_elements;
        const auto gradients = mine.gradients.find(slot.bucket);
        for (const NamedPart& p : named_parts(layer, instance, layer.weights[w], rank)) {
          const std::int64_t begin = slot.offset + p.offset;
          const bool buffer = layer.weights[w].buffer;
          if (buffer) {
            const std::vector<BucketRange> behind{{padded, mine.buffers.at(slot.bucket)}};
            add_part("weight", {behind, begin}, p, result_.weights);
            continue;
          }
          add_part("weight", {mine.weights.at(slot.bucket), begin}, p, result_.weights);
          if (gradients == mine.gradients.end() || p.copy) continue;
          add_part("gradient", {gradients->second, begin}, p, result_.gradients);
        }
      }
    }
  }
}

}  // namespace pleat
