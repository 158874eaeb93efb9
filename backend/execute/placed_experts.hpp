// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Experts that the plan places by load: which slot a token goes to, and how the copies of busy
// experts stay alike. A copy sees a part of its expert's tokens. After the backward passes its
// gradient is added to the one at the expert's home and cleared; after the optimizer's step the
// home's weights come back. What the optimizer makes of a copy's own state never counts.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "backend/execute/call.hpp"
#include "backend/execute/device_scratch.hpp"
#include "core/plan/expert_slots.hpp"
#include "core/program/program.hpp"

namespace pleat::execute {

struct Execution;

// The slots of the experts of a stage's layers, for the kernel that reads them and for the host.
class PlacedExperts {
 public:
  PlacedExperts(const StageProgram&, Device&, DeviceScratch&);

  // Of a layer, numbered as LayerInstance::layer; nothing where experts are in order.
  [[nodiscard]] const ExpertSlots* slots_of(int layer) const;
  // [E, 1 + copies], as KernelSet::place_experts reads it.
  [[nodiscard]] View table_of(int layer) const;

 private:
  struct Placed {
    const ExpertSlots* slots = nullptr;
    Scratch table;
  };
  std::map<int, Placed> of_layer_;
};

void place_experts(const Call&, Execution&);
void sum_expert_copies(const Call&, Execution&);
void spread_experts(const Call&, Execution&);

// Counts of slots as those of experts.
[[nodiscard]] std::vector<std::int32_t> counts_of_experts(const ExpertSlots&,
                                                          std::span<const std::int32_t> of_slots);

}  // namespace pleat::execute
