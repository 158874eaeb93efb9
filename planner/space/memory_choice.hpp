// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a plan may give up time for: recompute, activations in host memory, the optimizer's state there.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "planner/search/search.hpp"

namespace pleat {

// Where the optimizer's state lies between steps, and who makes the step with it.
enum class StatePlace : std::uint8_t {
  device,       // resident
  host,         // in host memory between steps, back on the GPU for its own (state_offload)
  host_stepped  // in host memory, where the CPU steps beside the transfers (cpu_offload)
};

void put_state(StatePlace, Plan&);

// Whether a search lets stages choose for themselves: Megatron has one choice for all.
[[nodiscard]] bool by_stage(const SearchConfig&);

// Sets of modules, and all layers whole.
[[nodiscard]] std::vector<RecomputeChoice> recompute_choices(const ModelSpec&, bool allowed);

// Only worth trying where a mesh does not fit without.
struct MemoryChoice {
  RecomputeChoice recompute;
  std::set<Offload> offload;
  int offload_layers = 0;  // whole layers' activations in host memory
  StatePlace state = StatePlace::device;
  // Every stage takes one of the others with this state (stage_choice); of itself it gives up nothing.
  bool by_stage = false;
  bool only_bounds = false;  // pins leave it out; it is no plan, but bounds those that give up more
  void put_into(Plan&) const;
  // Whether it is no plan, or another choice says the same of `stages` with chunks of at most so many
  // layers.
  [[nodiscard]] bool moot(int most_layers, int stages) const;
  bool operator==(const MemoryChoice&) const = default;
};

// The first one gives up nothing. Sets of modules to recompute, to offload, both; of whole layers to
// recompute in each chunk the first 1, 2, 4 … or all, these in units of 1, 2 or 4; to offload 1, 2,
// 4 … Each with the optimizer's state in all places that the runtime has; and by stage. Of the sets
// those that are pinned; the first choice is there in any case.
[[nodiscard]] std::vector<MemoryChoice> memory_choices(const ModelSpec&, const ClusterSpec&,
                                                       const SearchConfig&);

}  // namespace pleat
