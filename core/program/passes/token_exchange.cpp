// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges that send tokens as they are.
#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/program/passes/layer_passes.hpp"

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
    if (op.kind == OpKind::place_experts) found.experts = op.out[0];
    if (op.kind == OpKind::local_counts) found.group_counts = op.out[0];
  }
  return found;
}

// The exchange of tokens that takes the place of one of copies.
std::optional<OpKind> of_tokens(const Op& op) {
  if (op.group != Group::ep) return {};
  const OpKind family = family_of(op.kind);
  if (family == OpKind::all_to_all) return OpKind::exchange_tokens;
  if (family == OpKind::all_to_all_back) return OpKind::exchange_tokens_back;
  return {};
}

// The gather, or reduction, of all ranks' tokens that moves the local experts' rows alone.
std::optional<OpKind> of_picked_rows(const Op& op) {
  if (op.group != Group::etp_ep) return {};
  if (op.module != Module::dispatch && op.module != Module::combine) return {};
  const bool gather = family_of(op.kind) == OpKind::all_gather;
  return gather ? OpKind::gather_picked_rows : OpKind::reduce_picked_rows;
}

}  // namespace

void apply_token_exchange(LayerProgram& layer, const Plan& plan) {
  const bool tokens = is_fused(plan.dispatcher);
  const bool picks = plan.overlap.tile_level && traits_of(plan.dispatcher).gathers_tokens;
  const auto [experts, group_counts] = choice_of(layer);
  if (!experts || plan.expert.ep == 1) return;
  for (std::vector<Op>* ops : {&layer.forward, &layer.backward}) {
    for (Op& op : *ops) {
      if (const auto kind = of_tokens(op); tokens && kind) {
        op.kind = *kind;
        op.in.push_back(*experts);
      }
      if (const auto kind = of_picked_rows(op); picks && kind) {
        op.kind = *kind;
        op.in.push_back(*experts);
        op.in.push_back(*group_counts);
      }
    }
  }
}

}  // namespace pleat
