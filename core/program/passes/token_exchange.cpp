// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/passes/token_exchange.hpp"

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"

namespace pleat {
namespace {

// The experts of each token's copies, after any were dropped, and the rows of the local experts.
struct Choice {
  std::optional<TensorId> experts, group_counts;
};

Choice choice_of(const LayerProgram& layer) {
  Choice found;
  for (const Op& op : layer.forward) {
    if (op.kind == OpKind::router_topk) found.experts = op.out[1];
    if (op.kind == OpKind::drop_tokens) found.experts = op.out[0];
    if (op.kind == OpKind::local_counts) found.group_counts = op.out[0];
  }
  return found;
}

bool exchanges_copies(const Op& op) {
  return op.group == Group::ep &&
         (op.kind == OpKind::all_to_all || op.kind == OpKind::all_to_all_back);
}

bool picks_rows(const Op& op) {
  return op.group == Group::etp_ep &&
         (op.module == Module::dispatch || op.module == Module::combine);
}

}  // namespace

void apply_token_exchange(LayerProgram& layer, const Plan& plan) {
  const bool tokens = is_fused(plan.dispatcher);
  const bool picks = plan.overlap.tile_level && traits_of(plan.dispatcher).gathers_tokens;
  const auto [experts, group_counts] = choice_of(layer);
  if (!experts || plan.expert.ep == 1) return;
  for (std::vector<Op>* ops : {&layer.forward, &layer.backward}) {
    for (Op& op : *ops) {
      if (tokens && exchanges_copies(op)) op.in.push_back(*experts);
      if (picks && picks_rows(op)) {
        op.in.push_back(*experts);
        op.in.push_back(*group_counts);
      }
    }
  }
}

}  // namespace pleat
