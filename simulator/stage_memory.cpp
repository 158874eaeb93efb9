// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Replay of memory trajectories over a stage's slots, and the step's state.
#include "simulator/stage_memory.hpp"

#include <algorithm>

#include "simulator/layer_memory.hpp"
#include "simulator/schedule_table.hpp"
#include "simulator/stage_record.hpp"

namespace pleat {
namespace {

const StepLifetime* lifetime_of(const StageProgram& stage, TensorId id) {
  const auto found = std::ranges::find(stage.step_lives, id, &StepLifetime::tensor);
  return found == stage.step_lives.end() ? nullptr : &*found;
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

MemoryDelta replay(std::span<const std::int32_t> work, const StageCosts& costs) {
  // In the order of SlotWork.
  const std::vector<PassCost>* const alone[] = {&costs.forward, &costs.backward, &costs.input,
                                                &costs.weight};
  const auto chunks = static_cast<std::int32_t>(costs.forward.size());
  const int paired =
      SlotWork{.chunks = chunks, .split = !costs.input.empty()}.first_pair();
  MemoryDelta total;
  for (const std::int32_t w : work) {
    const PassCost& cost = w >= paired ? costs.pairs[static_cast<std::size_t>(w - paired)]
                                       : (*alone[w / chunks])[static_cast<std::size_t>(w % chunks)];
    total = then(total, cost.memory);
  }
  return total;
}

StageMemory stage_memory(Stage stage, const StageRecord& record,
                         std::span<const std::int32_t> work) {
  const MemoryDelta step = then(replay(work, record.costs), record.epilogue_memory);
  StageMemory memory{.stage = stage,
                     .weights = record.state.weights,
                     .gradients = record.state.gradients,
                     .optimizer = record.state.optimizer,
                     .activations = record.state.other + step.peak,
                     .runtime = record.runtime.allocated + record.runtime.outside,
                     .outside = record.runtime.outside};
  memory.peak = record.state.total() + step.peak + memory.runtime;
  return memory;
}

}  // namespace pleat
