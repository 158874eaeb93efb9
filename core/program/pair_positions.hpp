// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which layers of two chunks run as pairs, where a forward slot runs together with a backward one.
#pragma once

#include <vector>

#include "core/program/program.hpp"

namespace pleat {

// Positions of a paired run of two chunks, in execution order; -1: no partner.
struct PairedPosition {
  int forward = -1, backward = -1;
};
[[nodiscard]] std::vector<PairedPosition> pair_positions(const StageProgram&, ChunkId forward,
                                                         ChunkId backward);

}  // namespace pleat
