// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The tensors of a stage that can lie at the same offsets on all ranks that exchange them. These
// are tensors of collectives within the stage whose size does not depend on routing. All ranks of a
// stage run one program, so such tensors are born, die and are exchanged in the same order on each
// of them. Ranks of different stages run different programs.
#pragma once

#include <compare>
#include <set>

#include "core/program/program.hpp"

namespace pleat {

struct WindowGroup {
  Group group = Group::none;
  std::int64_t run = 0;  // OpAttributes::run: of consecutive members of tp
  auto operator<=>(const WindowGroup&) const = default;
};

struct WindowTensors {
  std::set<WindowGroup> groups;     // whose communicators run on them
  std::set<const Tensor*> tensors;  // of the program, at any level
};

// Weights and gradients, in buckets or of a layer, and activations: what all-gathers,
// reduce-scatters and all-reduces take and make. Pieces that differ between members and rows that
// the host packs are exchanged by messages, where windows change nothing.
[[nodiscard]] WindowTensors window_tensors(const Plan&, Stage, const StageProgram&);

}  // namespace pleat
