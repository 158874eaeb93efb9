// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Liveness of a layer's activations: from the first operation that writes a tensor to the last one
// that touches it, over the forward and then the backward list.
#include <algorithm>

#include "core/program/layer_program.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

struct Use {
  std::optional<Point> first, last;
};

void touch(Use& use, Point point) {
  if (!use.first) use.first = point;
  use.last = point;
}

// Where a weight's gradient lies while the layer runs, if not in its bucket: itself otherwise.
TensorId storage_of(const LayerProgram& layer, TensorId id) {
  if (layer.sharded.empty() || layer.tensor(id).cls != TensorClass::gradient) return id;
  const auto weight = std::ranges::find(layer.weights, id, &Weight::gradient);
  if (weight == layer.weights.end()) return id;
  const auto sharded = std::ranges::find_if(layer.sharded, [&](const ShardedWeights& s) {
    return s.bucket == weight->bucket && s.table == is_table(layer, *weight);
  });
  return sharded == layer.sharded.end() ? id : sharded->gradients;
}

}  // namespace

void compute_lifetimes(LayerProgram& layer) {
  std::vector<Use> uses(layer.tensors.size());
  for (Pass pass : {Pass::forward, Pass::backward}) {
    const std::vector<Op>& ops = layer.ops(pass);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Point point{pass, static_cast<int>(i)};
      for (TensorId id : ops[i].in) touch(uses[id.index()], point);
      for (TensorId id : ops[i].out) touch(uses[id.index()], point);
      for (TensorId id : ops[i].out) touch(uses[storage_of(layer, id).index()], point);
    }
  }
  layer.lives.clear();
  for (std::size_t i = 0; i < layer.tensors.size(); ++i) {
    const TensorId id{static_cast<int>(i)};
    if (layer.tensors[i].cls != TensorClass::activation || !uses[i].first) continue;
    Lifetime life{id, uses[i].first, uses[i].last};
    if (id == layer.input || id == layer.grad_output) life.begin.reset();
    if (id == layer.output || id == layer.grad_input) life.end.reset();
    layer.lives.push_back(life);
  }
}

std::vector<TensorId> saved_tensors(const LayerProgram& layer) {
  std::vector<TensorId> saved;
  for (const Lifetime& life : layer.lives) {
    const bool born_forward = life.begin && life.begin->pass == Pass::forward;
    const bool dies_backward = life.end && life.end->pass == Pass::backward;
    const bool is_input = life.tensor == layer.input;
    if ((born_forward || is_input) && dies_backward) saved.push_back(life.tensor);
  }
  return saved;
}

}  // namespace pleat
