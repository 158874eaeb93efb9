// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/host_memory.hpp"

#include <algorithm>
#include <vector>

namespace pleat {
namespace {

std::int64_t offloaded_bytes(const StageProgram& stage, const ChunkProgram& chunk,
                             const Binding& binding) {
  std::int64_t bytes = 0;
  for (const LayerInstance& instance : chunk.instances) {
    const LayerProgram& layer = stage.program(instance);
    for (const Op& op : layer.forward) {
      if (op.kind == OpKind::offload) bytes += layer.tensor(op.in.front()).bytes(binding);
    }
  }
  return bytes;
}

}  // namespace

std::int64_t offloaded_bytes(const Program& program) {
  const Binding binding{balanced_routed_tokens(program.model, program.workload, program.plan,
                                               program.workload.imbalance)};
  std::int64_t most = 0;
  for (const StageProgram& stage : program.stages) {
    std::vector<std::int64_t> of_chunk;
    for (const ChunkProgram& chunk : stage.chunks) {
      of_chunk.push_back(offloaded_bytes(stage, chunk, binding));
    }
    std::int64_t held = 0;
    for (const Slot& slot : stage.order) {
      const std::int64_t bytes = of_chunk[slot.chunk.index()];
      held += slot.pass == Pass::forward ? bytes : -bytes;
      most = std::max(most, held);
    }
  }
  return most;
}

}  // namespace pleat
