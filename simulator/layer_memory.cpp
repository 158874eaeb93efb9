// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Births and deaths of a layer's tensors, and the highest point between them.
#include "simulator/layer_memory.hpp"

#include <algorithm>
#include <utility>

#include "core/program/paged_stash.hpp"
#include "core/program/step_walk.hpp"

namespace pleat {

namespace {

// Each to the stash or back by itself: both blocks are there for a moment.
MemoryDelta stash_copies(const LayerProgram& layer, Pass pass, const Binding& rows) {
  MemoryDelta copies;
  for (const TensorId id : layer_events(layer).kept) {
    const Tensor& tensor = layer.tensor(id);
    if (!is_stashed(tensor, rows)) continue;
    const std::int64_t in_pass = tensor.bytes(within_pass(rows));
    const std::int64_t stashed = tensor.bytes(between_passes(rows));
    const auto [from, to] = pass == Pass::forward ? std::pair(in_pass, stashed)
                                                  : std::pair(stashed, in_pass);
    copies = then(copies, {.peak = to, .net = to - from});
  }
  return copies;
}

}  // namespace

OpBytes op_bytes(const LayerProgram& layer, Pass pass, const Binding& binding) {
  const Binding room = within_pass(binding);
  OpBytes bytes;
  bytes.born.resize(layer.ops(pass).size());
  bytes.freed.resize(layer.ops(pass).size());
  if (binding.stashed > 0) bytes.copies = stash_copies(layer, pass, binding);
  for (const Lifetime& life : layer.lives) {
    const std::int64_t size = layer.tensor(life.tensor).bytes(room);
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
    if (step.pass == Pass::backward && op == 0) delta = then(delta, bytes.copies);
    delta.net += bytes.born[op];
    delta.peak = std::max(delta.peak, delta.net);
    delta.net -= bytes.freed[op];
    if (step.pass == Pass::forward && op + 1 == bytes.born.size()) delta = then(delta, bytes.copies);
  }
  return delta;
}

MemoryDelta then(const MemoryDelta& first, const MemoryDelta& second) {
  return {.peak = std::max(first.peak, first.net + second.peak), .net = first.net + second.net};
}

}  // namespace pleat
