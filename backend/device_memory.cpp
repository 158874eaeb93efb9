// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/device_memory.hpp"

#include <set>

#include "backend/rehearsal.hpp"
#include "backend/window_tensors.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;
constexpr std::int64_t kPage = 2 * kMiB;  // of the slab
// Assumptions, until they are measured (docs/validation-notes.md): context, loaded kernels,
// cuBLASLt and cuDNN of CUDA 13 on Hopper; NCCL's rings of a communicator, as the simulator has
// them.
constexpr std::int64_t kContext = 600 * kMiB;
constexpr std::int64_t kCommunicator = 400 * kMiB;
// CudaOptions::scratch_bytes; cuBLASLt's workspace lies in it.
constexpr std::int64_t kScratch = 64 * kMiB;

// Groups whose members meet on the device; stages have one for each direction to a neighbour.
std::int64_t communicators(const Program& program, const StageProgram& stage) {
  std::set<Group> groups;
  const auto add = [&](const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (is_collective(op.kind)) groups.insert(op.group);
    }
  };
  for (const LayerProgram& layer : stage.layers) add(layer.forward), add(layer.backward);
  add(stage.prologue), add(stage.epilogue);
  std::int64_t count = 0;
  for (const Group g : groups) {
    if (g == Group::none || g == Group::pp_next || g == Group::pp_prev) continue;
    count += group_size(program.plan, g) > 1 ? 1 : 0;
  }
  const int stages = program.plan.attention.pp;
  return count + (stages > 2 ? 4 : stages > 1 ? 2 : 0);
}

}  // namespace

DeviceBytes predicted_device_bytes(const Program& program, Stage stage, const RoutedCount& routed,
                                   bool nccl, bool windows, std::int64_t context) {
  const StageProgram& of_rank = program.stages[static_cast<std::size_t>(stage.value)];
  const WindowTensors chosen =
      windows ? window_tensors(program.plan, stage, of_rank) : WindowTensors{};
  const auto in_window = [&](const Tensor& t) { return chosen.tensors.contains(&t); };
  const Rehearsed rest = rehearse(of_rank, routed, std::not_fn(in_window));
  const Rehearsed slab = rehearse(of_rank, routed, in_window);
  return {.blocks = rest.blocks + slab.blocks,
          .rounding = rest.in_pages - rest.blocks + (slab.slab + kPage - 1) / kPage * kPage - slab.blocks,
          .kernels = kScratch,
          .context = context > 0 ? context : kContext,
          .nccl = nccl ? kCommunicator * communicators(program, of_rank) : 0};
}

}  // namespace pleat
