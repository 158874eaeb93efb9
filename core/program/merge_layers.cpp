// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Strings decoder layers into one program, the unit of Megatron's uniform recompute.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/program/layer_program.hpp"

namespace pleat {
namespace {

using Renaming = std::map<TensorId, TensorId>;  // of one layer's tensors to the unit's

TensorId renamed(const Renaming& names, TensorId id) { return names.at(id); }

// The layer's tensors but those that a neighbour has already.
Renaming add_tensors(LayerProgram& unit, const LayerProgram& layer, Renaming shared, int number) {
  for (std::size_t i = 0; i < layer.tensors.size(); ++i) {
    const auto [place, fresh] = shared.try_emplace(TensorId{static_cast<int>(i)},
                                                   TensorId{static_cast<int>(unit.tensors.size())});
    if (!fresh) continue;
    unit.tensors.push_back(layer.tensors[i]);
    unit.tensors.back().of_layer = number;
  }
  return shared;
}

void rename(std::vector<Op>& ops, const Renaming& names, const std::string& suffix) {
  for (Op& op : ops) {
    op.name += suffix;
    for (auto* ids : {&op.in, &op.out}) {
      for (TensorId& id : *ids) id = renamed(names, id);
    }
  }
}

}  // namespace

LayerProgram merge_layers(std::vector<LayerProgram> layers) {
  PLEAT_ASSERT(!layers.empty());
  if (layers.size() == 1) return std::move(layers.front());
  LayerProgram unit;
  unit.kind = LayerKind::dense;
  unit.layers = static_cast<int>(layers.size());
  std::optional<TensorId> between, gradient;  // the last layer's output, its gradient
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerProgram& layer = layers[i];
    if (layer.kind == LayerKind::moe) unit.kind = LayerKind::moe;
    Renaming shared;
    if (between) {
      shared = {{*layer.input, *between}, {*layer.grad_input, *gradient}};
    }
    const Renaming names = add_tensors(unit, layer, std::move(shared), static_cast<int>(i));
    const std::string suffix = "." + std::to_string(i);
    rename(layer.forward, names, suffix);
    rename(layer.backward, names, suffix);
    std::ranges::move(layer.forward, std::back_inserter(unit.forward));
    unit.backward.insert(unit.backward.begin(), std::make_move_iterator(layer.backward.begin()),
                         std::make_move_iterator(layer.backward.end()));
    for (Weight w : layer.weights) {
      w.weight = renamed(names, w.weight);
      w.gradient = renamed(names, w.gradient);
      unit.weights.push_back(w);
    }
    between = renamed(names, *layer.output);
    gradient = renamed(names, *layer.grad_output);
    if (i == 0) {
      unit.input = renamed(names, *layer.input);
      unit.grad_input = renamed(names, *layer.grad_input);
    }
  }
  unit.output = between;
  unit.grad_output = gradient;
  return unit;
}

}  // namespace pleat
