// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Births and deaths of a layer's tensors, and the highest point between them.
#include "simulator/layer_memory.hpp"

#include <algorithm>

namespace pleat {

namespace {

// What a tensor kept between the passes takes less in a paged stash, where it lies meanwhile.
std::int64_t stash_saves(const LayerProgram& layer, const Lifetime& life, const Binding& room,
                         const Binding& binding) {
  const bool kept = life.begin && life.begin->pass == Pass::forward && life.end &&
                    life.end->pass == Pass::backward;
  const Tensor& tensor = layer.tensor(life.tensor);
  if (binding.stashed == 0 || !kept || !tensor.is_routed()) return 0;
  return tensor.bytes(room) - tensor.bytes({.routed = binding.stashed});
}

}  // namespace

OpBytes op_bytes(const LayerProgram& layer, Pass pass, const Binding& binding) {
  const Binding room{.routed = binding.room > 0 ? binding.room : binding.routed};
  OpBytes bytes;
  bytes.born.resize(layer.ops(pass).size());
  bytes.freed.resize(layer.ops(pass).size());
  for (const Lifetime& life : layer.lives) {
    const std::int64_t size = layer.tensor(life.tensor).bytes(room);
    if (const std::int64_t saves = stash_saves(layer, life, room, binding); saves != 0) {
      if (pass == Pass::forward) bytes.freed.back() += saves;
      else bytes.born.front() += saves;
    }
    if (life.begin && life.begin->pass == pass) {
      bytes.born[static_cast<std::size_t>(life.begin->op)] += size;
    }
    if (life.end && life.end->pass == pass) {
      bytes.freed[static_cast<std::size_t>(life.end->op)] += size;
    }
  }
  return bytes;
}

MemoryDelta memory_along(std::span<const PairStep> steps, const OpBytes& forward,
                         const OpBytes& backward) {
  MemoryDelta delta;
  for (const PairStep& step : steps) {
    const OpBytes& bytes = step.pass == Pass::forward ? forward : backward;
    const auto op = static_cast<std::size_t>(step.op);
    delta.net += bytes.born[op];
    delta.peak = std::max(delta.peak, delta.net);
    delta.net -= bytes.freed[op];
  }
  return delta;
}

MemoryDelta then(const MemoryDelta& first, const MemoryDelta& second) {
  return {.peak = std::max(first.peak, first.net + second.peak), .net = first.net + second.net};
}

}  // namespace pleat
