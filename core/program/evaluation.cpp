// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/evaluation.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace pleat {
namespace {

// For the backward pass alone, or for the step that follows it.
bool serves_training(const Op& op) {
  return op.kind == OpKind::offload || op.kind == OpKind::count_load;
}

// What the loss reads and computes where the backward pass does that, part by part: the forward
// operations there, and what makes their operands.
std::vector<Op> forward_operations(const LayerProgram& layer) {
  std::vector<Op> kept;
  std::set<TensorId> read;
  for (auto op = layer.backward.rbegin(); op != layer.backward.rend(); ++op) {
    const bool made_for_them =
        std::ranges::any_of(op->out, [&](TensorId made) { return read.contains(made); });
    if (op->phase != Phase::forward && (is_in_place(op->kind) || !made_for_them)) continue;
    read.insert(op->in.begin(), op->in.end());
    kept.push_back(*op);
  }
  std::ranges::reverse(kept);
  return kept;
}

// Weights that the forward pass of training does not read are gathered, and let go, as there.
void gather_for_forward(LayerProgram& layer, std::vector<Op>& ops) {
  for (ShardedWeights& s : layer.sharded) {
    if (s.forward || !s.backward) continue;
    for (const Op& op : layer.backward) {
      if (op.kind == OpKind::gather_weights && op.out.front() == *s.backward) {
        ops.insert(ops.begin(), op);
      } else if (op.kind == OpKind::release && op.in.front() == *s.backward) {
        ops.push_back(op);
      }
    }
    s.forward = s.backward;
  }
}

// Before what lets go of the layer's weights.
void move_loss(LayerProgram& layer) {
  std::vector<Op> ops = forward_operations(layer);
  if (ops.empty()) return;
  gather_for_forward(layer, ops);
  const auto lets_go = [](const Op& op) { return op.kind == OpKind::release; };
  const auto end = std::ranges::find_if(layer.forward, lets_go);
  layer.forward.insert(end, ops.begin(), ops.end());
}

void keep_forward(LayerProgram& layer) {
  if (layer.kind == LayerKind::head) move_loss(layer);
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
    return !clears_loss && op.kind != OpKind::quantize_weights && op.kind != OpKind::past_amax;
  });
  forward.epilogue.clear();
  forward.step_lives.clear();
  return forward;
}

}  // namespace pleat
