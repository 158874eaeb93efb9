// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/passes/token_exchange.hpp"

#include <algorithm>

namespace pleat {
namespace {

// The experts of each token's copies, after any were dropped.
std::optional<TensorId> choice_of(const LayerProgram& layer) {
  std::optional<TensorId> found;
  for (const Op& op : layer.forward) {
    if (op.kind == OpKind::router_topk) found = op.out[1];
    if (op.kind == OpKind::drop_tokens) found = op.out[0];
  }
  return found;
}

}  // namespace

void apply_token_exchange(LayerProgram& layer, const Plan& plan) {
  const bool tokens =
      plan.dispatcher == Dispatcher::deepep || plan.dispatcher == Dispatcher::hybridep;
  const std::optional<TensorId> experts = choice_of(layer);
  if (!tokens || !experts || plan.expert.ep == 1) return;
  for (std::vector<Op>* ops : {&layer.forward, &layer.backward}) {
    for (Op& op : *ops) {
      const bool exchanges = op.kind == OpKind::all_to_all || op.kind == OpKind::all_to_all_back;
      if (exchanges && op.group == Group::ep) op.in.push_back(*experts);
    }
  }
}

}  // namespace pleat
