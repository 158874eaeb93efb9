// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory for collectives where a rank's transport has symmetric windows (NCCL). The tensors that
// collectives run on lie in one slab, at the same offsets on all ranks of a stage. The whole slab
// is registered as a window with every group that runs on these tensors.
#pragma once

#include <memory>
#include <vector>

#include "backend/rank_context.hpp"
#include "backend/runtime/slab.hpp"
#include "backend/window_tensors.hpp"

namespace pleat {

class StepWindows {
 public:
  // The arguments must outlive it. Takes the slab's memory where the transport has windows.
  StepWindows(const Program&, const RankContext&, Device&);

  // Of a tensor of the rank's program; null: the device's.
  [[nodiscard]] Memory* memory_of(const Tensor&) const;
  // All ranks call it while their devices are idle, before the first collective runs on the slab.
  void open(const RankContext&);

 private:
  WindowTensors chosen_;
  std::uint64_t layout_ = 0;
  std::unique_ptr<Memory> memory_;  // of the slab
  std::unique_ptr<Slab> slab_;
  std::vector<std::shared_ptr<void>> windows_;  // end first
};

}  // namespace pleat
