// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/pair_positions.hpp"

#include <algorithm>

namespace pleat {
namespace {

bool is_decoder(const StageProgram& stage, const LayerInstance& instance) {
  const LayerKind kind = stage.program(instance).kind;
  return kind == LayerKind::dense || kind == LayerKind::moe;
}

// Positions of the chunk's decoder layers, in forward order.
std::vector<int> decoder_positions(const StageProgram& stage, ChunkId chunk) {
  std::vector<int> positions;
  const auto& instances = stage.chunks[chunk.index()].instances;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (is_decoder(stage, instances[i])) positions.push_back(static_cast<int>(i));
  }
  return positions;
}

}  // namespace

std::vector<PairedPosition> pair_positions(const StageProgram& stage, ChunkId forward,
                                           ChunkId backward) {
  const std::vector<int> f = decoder_positions(stage, forward);
  std::vector<int> b = decoder_positions(stage, backward);
  std::reverse(b.begin(), b.end());
  const std::size_t paired = std::min(f.size(), b.size());
  const int f_count = static_cast<int>(stage.chunks[forward.index()].instances.size());
  const int b_count = static_cast<int>(stage.chunks[backward.index()].instances.size());
  std::vector<PairedPosition> positions;
  int f_next = 0, b_next = b_count - 1;
  for (std::size_t i = 0; i < paired; ++i) {
    for (; b_next > b[i]; --b_next) positions.push_back({-1, b_next});
    for (; f_next < f[i]; ++f_next) positions.push_back({f_next, -1});
    positions.push_back({f_next++, b_next--});
  }
  for (; b_next >= 0; --b_next) positions.push_back({-1, b_next});
  for (; f_next < f_count; ++f_next) positions.push_back({f_next, -1});
  return positions;
}

}  // namespace pleat
