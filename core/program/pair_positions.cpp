// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/pair_positions.hpp"

namespace pleat {
namespace {

bool is_decoder(const StageProgram& stage, const LayerInstance& instance) {
  const LayerKind kind = stage.program(instance).kind;
  return kind == LayerKind::dense || kind == LayerKind::moe;
}

}  // namespace

std::vector<PairedPosition> pair_positions(const StageProgram& stage, ChunkId forward,
                                           ChunkId backward) {
  const auto& f = stage.chunks[forward.index()].instances;
  const auto& b = stage.chunks[backward.index()].instances;
  const int f_count = static_cast<int>(f.size()), b_count = static_cast<int>(b.size());
  std::vector<PairedPosition> positions;
  positions.reserve(f.size() + b.size());
  const auto decodes = [&](const auto& instances, int i) {
    return is_decoder(stage, instances[static_cast<std::size_t>(i)]);
  };
  int f_next = 0, b_next = b_count - 1;
  for (;;) {
    int f_layer = f_next, b_layer = b_next;  // the next decoder layer of each
    while (f_layer < f_count && !decodes(f, f_layer)) ++f_layer;
    while (b_layer >= 0 && !decodes(b, b_layer)) --b_layer;
    if (f_layer == f_count || b_layer < 0) break;
    for (; b_next > b_layer; --b_next) positions.push_back({-1, b_next});
    for (; f_next < f_layer; ++f_next) positions.push_back({f_next, -1});
    positions.push_back({f_next++, b_next--});
  }
  for (; b_next >= 0; --b_next) positions.push_back({-1, b_next});
  for (; f_next < f_count; ++f_next) positions.push_back({f_next, -1});
  return positions;
}

}  // namespace pleat
