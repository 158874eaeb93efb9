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

// visit(PairedPosition) of the same, in order: the i-th decoder layer from the front of one chunk
// pairs with the i-th from the back of the other.
template <class Visit>
void for_each_pair(const StageProgram& stage, ChunkId forward, ChunkId backward,
                   const Visit& visit) {
  const auto& f = stage.chunks[forward.index()].instances;
  const auto& b = stage.chunks[backward.index()].instances;
  const auto decodes = [&](const auto& instances, int i) {
    const LayerKind kind = stage.program(instances[static_cast<std::size_t>(i)]).kind;
    return kind == LayerKind::dense || kind == LayerKind::moe;
  };
  const int f_count = static_cast<int>(f.size());
  int f_next = 0, b_next = static_cast<int>(b.size()) - 1;
  for (;;) {
    int f_layer = f_next, b_layer = b_next;  // the next decoder layer of each
    while (f_layer < f_count && !decodes(f, f_layer)) ++f_layer;
    while (b_layer >= 0 && !decodes(b, b_layer)) --b_layer;
    if (f_layer == f_count || b_layer < 0) break;
    for (; b_next > b_layer; --b_next) visit(PairedPosition{-1, b_next});
    for (; f_next < f_layer; ++f_next) visit(PairedPosition{f_next, -1});
    visit(PairedPosition{f_next++, b_next--});
  }
  for (; b_next >= 0; --b_next) visit(PairedPosition{-1, b_next});
  for (; f_next < f_count; ++f_next) visit(PairedPosition{f_next, -1});
}

}  // namespace pleat
