// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_weights.hpp"

#include "core/program/step_state.hpp"

namespace pleat {

LayerWeights count_weights(const LayerProgram& layer) {
  LayerWeights weights;
  for (const Weight& w : layer.weights) {
    if (w.buffer) continue;
    const auto bucket = static_cast<std::size_t>(w.bucket) + (is_muon_matrix(layer, w) ? 2 : 0);
    weights.of[bucket] += w.elements;
    if (w.summed_over_tp) weights.replicated[bucket] += w.elements;
    if (is_table(layer, w)) weights.table += w.elements;
  }
  return weights;
}

}  // namespace pleat
