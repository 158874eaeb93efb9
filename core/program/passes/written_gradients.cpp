// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which gradients of weights need not be cleared, because their first microbatch writes them.
#include <algorithm>
#include <vector>

#include "core/program/passes/layer_passes.hpp"
#include "core/program/step_state.hpp"

namespace pleat {

void write_gradients(LayerProgram& layer) {
  std::vector<int> makers(layer.tensors.size());
  for (const Op& op : layer.backward) {
    for (TensorId made : op.out) ++makers[made.index()];
  }
  for (Op& op : layer.backward) {
    const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
    if (!product || !op.attr.accumulate || makers[op.out.front().index()] > 1) continue;
    const auto weight = std::ranges::find(layer.weights, op.out.front(), &Weight::gradient);
    // Other layers of the stage, and of other stages, may have the table too.
    if (weight == layer.weights.end() || is_table(layer, *weight)) continue;
    weight->written = op.attr.first_writes = true;
  }
}

}  // namespace pleat
