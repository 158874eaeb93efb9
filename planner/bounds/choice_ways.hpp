// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory choices taken apart, for bounds: the different ways to recompute and the different ways to
// offload among them. Each is bounded once (layer_savings.hpp), and a choice adds up its two.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/space/memory_choice.hpp"
#include "planner/space/memory_tree.hpp"

namespace pleat {

// The different ways to recompute, and to offload activations, among the choices of a search.
struct RecomputeWay {
  std::uint32_t parts = 0;  // a bit for each SavingPart
  bool full = false;
  int layers = 0, unit = 1;  // as RecomputeChoice
  bool operator==(const RecomputeWay&) const = default;
};
struct OffloadWay {
  std::uint32_t modules = 0;  // a bit for each Offload
  int layers = 0;
  bool operator==(const OffloadWay&) const = default;
};

struct ChoiceWays {
  struct Choice {
    std::size_t recompute, offload;  // indices
    StatePlace state;
    double share;  // of the optimizer state that is there
    bool by_stage;
    // A choice that gives up less and is never slower, and one that needs the least memory of those
    // that recompute the same; -1: none is known. The second may be this one.
    int less = -1, most = -1;
  };
  explicit ChoiceWays(const std::vector<MemoryChoice>&);
  // Bounds are then asked for as a search needs them: what fits is not made tighter by giving up
  // more, and where `most` does not fit the others are not looked at.
  ChoiceWays(const std::vector<MemoryChoice>&, const MemoryTree&);

  std::vector<RecomputeWay> recompute;
  std::vector<OffloadWay> offload;
  std::vector<Choice> choices;  // in the order of the memory choices
};

}  // namespace pleat
