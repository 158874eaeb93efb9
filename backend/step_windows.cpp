// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/step_windows.hpp"

#include <fmt/format.h>

#include "backend/rehearsal.hpp"

namespace pleat {

StepWindows::StepWindows(const Program& program, const RankContext& context, Device& device)
    : memory_(context.comm(Group::world).window_memory()) {
  if (memory_ == nullptr) return;
  const Stage stage{context.attention().pp};
  const StageProgram& mine = program.stages[static_cast<std::size_t>(stage.value)];
  chosen_ = window_tensors(program.plan, stage, mine);
  const Rehearsed step = rehearse(
      mine, {}, [&](const Tensor& t) { return chosen_.tensors.contains(&t); },
      TensorPlacement::slab);
  if (step.slab == 0) return;
  layout_ = step.layout;
  slab_ = std::make_unique<Slab>(*memory_, step.slab, device.memory());
}

Memory* StepWindows::memory_of(const Tensor& tensor) const {
  return slab_ != nullptr && chosen_.tensors.contains(&tensor) ? slab_.get() : nullptr;
}

void StepWindows::open(const RankContext& context) {
  if (slab_ == nullptr) return;
  for (const auto& [group, run] : chosen_.groups) {
    Communicator& comm = context.comm(group, run);
    const std::string name =
        run > 0 ? fmt::format("runs of {} of {}", run, name_of(group)) : name_of(group);
    if (auto window = comm.register_window({slab_->whole(), layout_, name})) {
      windows_.push_back(std::move(window));
    }
  }
}

}  // namespace pleat
