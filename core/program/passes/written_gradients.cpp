// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which gradients of weights need not be cleared, because their first microbatch writes them.
#include <algorithm>
#include <vector>

#include "core/program/passes/layer_passes.hpp"
#include "core/program/step_state.hpp"

namespace pleat {

void write_gradients(LayerProgram& layer) {
  const auto product = [](const Op& op) {
    return (op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm) && op.attr.accumulate;
  };
  std::vector<int> makers(layer.tensors.size()), parts(layer.tensors.size());
  for (const Op& op : layer.backward) {
    for (TensorId made : op.out) ++makers[made.index()];
    if (product(op) && op.module == Module::head) ++parts[op.out.front().index()];
  }
  // One maker writes it. Of the loss's parts, which add up in their order, the first one does.
  const auto is_written = [&](TensorId gradient) {
    const int all = makers[gradient.index()];
    return all == 1 || all == parts[gradient.index()];
  };
  for (Op& op : layer.backward) {
    if (!product(op) || !is_written(op.out.front())) continue;
    const auto weight = std::ranges::find(layer.weights, op.out.front(), &Weight::gradient);
    // Other layers of the stage, and of other stages, may have the table too.
    if (weight == layer.weights.end() || is_table(layer, *weight) || weight->written) continue;
    weight->written = op.attr.first_writes = true;
  }
}

}  // namespace pleat
