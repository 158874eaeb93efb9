// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/evaluation.hpp"

#include <algorithm>

namespace pleat {
namespace {

// For the backward pass alone, or for the step that follows it.
bool serves_training(const Op& op) {
  return op.kind == OpKind::offload || op.kind == OpKind::count_load;
}

void keep_forward(LayerProgram& layer) {
  layer.backward.clear();
  layer.weight_ops.reset();
  layer.grad_output.reset();
  layer.grad_input.reset();
  std::erase_if(layer.forward, serves_training);
  compute_lifetimes(layer);
}

}  // namespace

StageProgram evaluation_of(const StageProgram& stage) {
  StageProgram forward = stage;
  for (SharedLayer& layer : forward.layers) keep_forward(layer.own());
  std::erase_if(forward.order, [](const Slot& s) { return s.pass != Pass::forward; });
  std::erase_if(forward.prologue, [&](const Op& op) {
    const bool clears_loss = op.kind == OpKind::zero && op.out == std::vector{stage.loss};
    return !clears_loss && op.kind != OpKind::quantize_weights;
  });
  forward.epilogue.clear();
  forward.step_lives.clear();
  return forward;
}

}  // namespace pleat
