// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Replay of memory trajectories over a stage's slots, and the step's state.
#include "simulator/stage_memory.hpp"

#include <algorithm>

#include "simulator/layer_memory.hpp"

namespace pleat {
namespace {

const StepLifetime* lifetime_of(const StageProgram& stage, TensorId id) {
  const auto found = std::ranges::find(stage.step_lives, id, &StepLifetime::tensor);
  return found == stage.step_lives.end() ? nullptr : &*found;
}

MemoryDelta replay(const StageProgram& stage, const StageCosts& costs) {
  MemoryDelta total;
  for (std::size_t i = 0; i < stage.order.size(); ++i) {
    const Slot& slot = stage.order[i];
    if (slot.with_next) {
      total = then(total, costs.pair(slot.chunk, stage.order[i + 1].chunk).memory);
      ++i;
    } else {
      total = then(total, costs.pass(slot.pass, slot.chunk).memory);
    }
  }
  return total;
}

}  // namespace

StateBytes state_bytes(const StageProgram& stage) {
  StateBytes bytes;
  for (std::size_t i = 0; i < stage.state.size(); ++i) {
    const Tensor& tensor = stage.state[i];
    const StepLifetime* life = lifetime_of(stage, TensorId{static_cast<int>(i)});
    if (life != nullptr && life->begin >= 0) continue;  // epilogue scratch
    const std::int64_t size = tensor.bytes(Binding{});
    switch (tensor.cls) {
      case TensorClass::weight: bytes.weights += size; break;
      case TensorClass::gradient: bytes.gradients += size; break;
      case TensorClass::optimizer_state: bytes.optimizer += size; break;
      case TensorClass::activation:
      case TensorClass::step_scratch: bytes.other += size; break;
    }
  }
  return bytes;
}

MemoryDelta epilogue_memory(const StageProgram& stage) {
  std::vector<std::int64_t> born(stage.epilogue.size()), freed(stage.epilogue.size());
  for (const StepLifetime& life : stage.step_lives) {
    const std::int64_t size = stage.state[life.tensor.index()].bytes(Binding{});
    if (life.begin >= 0) born[static_cast<std::size_t>(life.begin)] += size;
    if (life.end >= 0) freed[static_cast<std::size_t>(life.end)] += size;
  }
  MemoryDelta delta;
  for (std::size_t i = 0; i < born.size(); ++i) {
    delta.net += born[i];
    delta.peak = std::max(delta.peak, delta.net);
    delta.net -= freed[i];
  }
  return delta;
}

StageMemory stage_memory(const StageProgram& stage, const StageCosts& costs,
                         const RuntimeBytes& runtime) {
  const StateBytes state = state_bytes(stage);
  const MemoryDelta step = then(replay(stage, costs), epilogue_memory(stage));
  StageMemory memory{.stage = stage.stage,
                     .weights = state.weights,
                     .gradients = state.gradients,
                     .optimizer = state.optimizer,
                     .activations = state.other + step.peak,
                     .runtime = runtime.allocated + runtime.outside,
                     .outside = runtime.outside};
  memory.peak = state.total() + step.peak + memory.runtime;
  return memory;
}

}  // namespace pleat
