// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/pair_positions.hpp"

namespace pleat {

std::vector<PairedPosition> pair_positions(const StageProgram& stage, ChunkId forward,
                                           ChunkId backward) {
  std::vector<PairedPosition> positions;
  for_each_pair(stage, forward, backward,
                [&](const PairedPosition& at) { positions.push_back(at); });
  return positions;
}

}  // namespace pleat
