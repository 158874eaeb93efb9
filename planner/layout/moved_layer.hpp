// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/plan/layout.hpp"

namespace pleat {

// The layout with a layer less on virtual stage `from`, which must hold one, and a layer more on
// `to`. The stages between them hold as many as before, one further on.
[[nodiscard]] inline std::vector<VirtualStage> with_moved_layer(std::vector<VirtualStage> stages,
                                                                std::size_t from, std::size_t to) {
  --stages[from].layers;
  ++stages[to].layers;
  std::int64_t first = 0;
  for (VirtualStage& s : stages) {
    s.first_layer = first;
    first += s.layers;
  }
  return stages;
}

}  // namespace pleat
