// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Replay of memory trajectories over a stage's slots, and the step's state.
#include "simulator/stage_memory.hpp"

#include <algorithm>

#include "simulator/layer_costs.hpp"
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
      case TensorClass::host_state: bytes.host += size; break;
      case TensorClass::activation:
      case TensorClass::step_scratch: bytes.other += size; break;
    }
  }
  return bytes;
}

EpilogueMemory epilogue_memory(const StageProgram& stage) {
  struct Bytes {
    std::int64_t all = 0, optimizer = 0;
  };
  std::vector<Bytes> born(stage.epilogue.size()), freed(stage.epilogue.size());
  for (const StepLifetime& life : stage.step_lives) {
    const Tensor& tensor = stage.state[life.tensor.index()];
    const std::int64_t size = tensor.bytes(Binding{});
    const auto add = [&](std::vector<Bytes>& at, int op) {
      if (op < 0) return;
      at[static_cast<std::size_t>(op)].all += size;
      // What lives for the whole step is in state_bytes already.
      const bool reloaded = tensor.cls == TensorClass::optimizer_state && life.begin >= 0;
      if (reloaded) at[static_cast<std::size_t>(op)].optimizer += size;
    };
    add(born, life.begin);
    add(freed, life.end);
  }
  EpilogueMemory memory;
  std::int64_t optimizer = 0;
  for (std::size_t i = 0; i < born.size(); ++i) {
    memory.net += born[i].all;
    optimizer += born[i].optimizer;
    if (memory.net > memory.peak) {
      memory.peak = memory.net;
      memory.optimizer = optimizer;
    }
    memory.net -= freed[i].all;
    optimizer -= freed[i].optimizer;
  }
  return memory;
}

namespace {

MemoryDelta repeated(const MemoryDelta& one, std::int64_t times) {
  return {.peak = one.peak + std::max<std::int64_t>(0, (times - 1) * one.net),
          .net = times * one.net};
}

// All slots of a stage; `of_slot`: a SlotWork's MemoryDelta.
template <class OfSlot>
MemoryDelta replay(const StageWork& work, const OfSlot& of_slot) {
  const auto slots = [&](MemoryDelta before, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) before = then(before, of_slot(work.slots[i]));
    return before;
  };
  const std::size_t end_of_rounds = work.first + work.round * work.times;
  MemoryDelta total = slots({}, 0, work.first);
  if (work.times > 0) {
    const MemoryDelta round = slots({}, work.first, work.first + work.round);
    total = then(total, repeated(round, static_cast<std::int64_t>(work.times)));
  }
  return slots(total, end_of_rounds, work.slots.size());
}

MemoryDelta replay(const StageWork& work, const StageCosts& costs) {
  // In the order of SlotWork.
  const std::vector<PassCost>* const alone[] = {&costs.forward, &costs.backward, &costs.input,
                                                &costs.weight};
  const auto chunks = static_cast<std::int32_t>(costs.forward.size());
  const int paired =
      SlotWork{.chunks = chunks, .split = !costs.input.empty()}.first_pair();
  return replay(work, [&](std::int32_t w) -> const MemoryDelta& {
    const PassCost& cost = w >= paired ? costs.pair(static_cast<std::size_t>(w - paired))
                                       : (*alone[w / chunks])[static_cast<std::size_t>(w % chunks)];
    return cost.memory;
  });
}

}  // namespace

std::int64_t most_in_flight(const StageWork& work, const std::vector<std::int64_t>& by_chunk,
                            bool split) {
  if (by_chunk.empty()) return 0;
  const auto chunks = static_cast<std::int32_t>(by_chunk.size());
  const int paired = SlotWork{.chunks = chunks, .split = split}.first_pair();
  const auto of = [&](std::int32_t chunk) { return by_chunk[static_cast<std::size_t>(chunk)]; };
  return replay(work, [&](std::int32_t w) -> MemoryDelta {
           std::int64_t begins = 0, ends = 0;
           const std::int32_t kind = w / chunks;  // 0 forward, 1 backward, 2 and 3 its halves
           if (w >= paired) {
             begins = of((w - paired) / chunks);
             ends = of((w - paired) % chunks);
           } else if (kind == 0) {
             begins = of(w);
           } else if (kind == 1 || kind == 3) {
             ends = of(w % chunks);
           }
           return {.peak = begins, .net = begins - ends};
         })
      .peak;
}

std::vector<std::int64_t> offloaded_activations(const StageProgram& stage, const LayerRows& rows) {
  std::vector<std::int64_t> copied;  // by layer program
  for (const LayerProgram& layer : stage.layers) {
    copied.push_back(0);
    const Binding binding = rows.of(layer);
    for (const Op& op : layer.forward) {
      if (op.kind == OpKind::offload) copied.back() += layer.tensor(op.in.front()).bytes(binding);
    }
  }
  if (std::ranges::all_of(copied, [](std::int64_t bytes) { return bytes == 0; })) return {};
  std::vector<std::int64_t> chunks;
  for (const ChunkProgram& chunk : stage.chunks) {
    chunks.push_back(0);
    for (const LayerInstance& i : chunk.instances) {
      chunks.back() += copied[static_cast<std::size_t>(i.program)];
    }
  }
  return chunks;
}

std::int64_t fullest_node(const std::vector<StageMemory>& stages, int ranks, int gpus_per_node) {
  if (std::ranges::none_of(stages, [](const StageMemory& m) { return m.host > 0; })) return 0;
  const int of_stage = ranks / static_cast<int>(stages.size());
  std::int64_t most = 0;
  for (int first = 0; first < ranks;) {
    const int end = std::min(ranks, first + gpus_per_node);
    std::int64_t bytes = 0;
    for (int rank = first; rank < end;) {
      const int stage = rank / of_stage;
      const int last = std::min(end, (stage + 1) * of_stage);
      bytes += (last - rank) * stages[static_cast<std::size_t>(stage)].host;
      rank = last;
    }
    most = std::max(most, bytes);
    // The other nodes that lie within this one's last stage alone are alike.
    const int stage_end = ((end - 1) / of_stage + 1) * of_stage;
    const bool one = first / of_stage == (end - 1) / of_stage;
    const int alike = one ? (stage_end - end) / gpus_per_node : 0;
    first = end + alike * gpus_per_node;
  }
  return most;
}

StageMemory stage_memory(Stage stage, const StageRecord& record, const StageWork& work) {
  const MemoryDelta slots = replay(work, record.costs);
  const MemoryDelta step = then(slots, record.epilogue_memory);
  const std::int64_t reloaded = step.peak > slots.peak ? record.epilogue_memory.optimizer : 0;
  const bool split = !record.costs.input.empty();
  StageMemory memory{.stage = stage,
                     .weights = record.state.weights,
                     .gradients = record.state.gradients,
                     .optimizer = record.state.optimizer + reloaded,
                     .activations = record.state.other + step.peak - reloaded,
                     .runtime = record.runtime.allocated + record.runtime.outside +
                                most_in_flight(work, record.graph_outputs, split),
                     .outside = record.runtime.outside,
                     .host = record.state.host + most_in_flight(work, record.offloaded, split)};
  memory.peak = record.state.total() + step.peak + memory.runtime;
  return memory;
}

}  // namespace pleat
