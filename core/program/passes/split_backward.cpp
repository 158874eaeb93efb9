// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Weight gradients, what is made for them alone (inputs gathered or computed again), and nothing
// that an input gradient waits for.
#include <algorithm>

#include "core/program/op_graph.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

// Everything the op makes is a scratch tensor of this layer that only deferred ops read.
bool only_for_deferred(const LayerProgram& layer, const std::vector<char>& deferred,
                       std::size_t maker) {
  const Op& op = layer.backward[maker];
  if (op.out.empty() || is_in_place(op.kind) || op.attr.accumulate) return false;
  for (TensorId made : op.out) {
    if (layer.tensor(made).cls != TensorClass::activation || made == layer.grad_input) return false;
    bool read = false;
    for (std::size_t i = 0; i < layer.backward.size(); ++i) {
      if (i == maker) continue;
      const Op& other = layer.backward[i];
      if (std::ranges::count(other.in, made) + std::ranges::count(other.out, made) == 0) continue;
      if (!deferred[i]) return false;
      read = true;
    }
    if (!read) return false;
  }
  return true;
}

}  // namespace

void split_backward(LayerProgram& layer) {
  const std::size_t count = layer.backward.size();
  std::vector<char> deferred(count);
  for (std::size_t i = count; i-- > 0;) {
    deferred[i] = layer.backward[i].phase == Phase::wgrad || only_for_deferred(layer, deferred, i);
  }
  // What an op before the cut depends on stays before it.
  const Dependencies before = dependencies(layer.backward);
  for (std::size_t i = count; i-- > 0;) {
    if (deferred[i]) continue;
    for (int b : before[i]) deferred[static_cast<std::size_t>(b)] = false;
  }
  std::vector<Op> now, later;
  for (std::size_t i = 0; i < count; ++i) {
    (deferred[i] ? later : now).push_back(std::move(layer.backward[i]));
  }
  layer.weight_ops = static_cast<int>(now.size());
  std::ranges::move(later, std::back_inserter(now));
  layer.backward = std::move(now);
}

}  // namespace pleat
