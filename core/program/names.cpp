// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Printed names of operation kinds, phases and groups, and small facts about kinds.
#include "core/program/op.hpp"

#include <array>
#include <utility>

namespace pleat {
namespace {

constexpr std::pair<OpKind, OpKind> kOfFamily[] = {
    {OpKind::layer_norm, OpKind::rms_norm},
    {OpKind::layer_norm_bwd, OpKind::rms_norm_bwd},
    {OpKind::wire_conversion, OpKind::pointwise},
    {OpKind::quantize_weight, OpKind::quantize},
    {OpKind::quantize_weights, OpKind::quantize},
    {OpKind::transpose_codes, OpKind::quantize},
    {OpKind::gather_keys, OpKind::all_gather},
    {OpKind::gather_counts, OpKind::all_gather},
    {OpKind::gather_peer_rows, OpKind::all_gather},
    {OpKind::gather_picked_rows, OpKind::all_gather},
    {OpKind::gather_weights, OpKind::all_gather},
    {OpKind::gather_bucket, OpKind::all_gather},
    {OpKind::gather_matrix, OpKind::all_gather},
    {OpKind::reduce_key_gradients, OpKind::reduce_scatter},
    {OpKind::reduce_peer_rows, OpKind::reduce_scatter},
    {OpKind::reduce_picked_rows, OpKind::reduce_scatter},
    {OpKind::reduce_gradients, OpKind::reduce_scatter},
    {OpKind::reduce_bucket, OpKind::reduce_scatter},
    {OpKind::all_reduce_bucket, OpKind::all_reduce},
    {OpKind::all_reduce_replicated, OpKind::all_reduce},
    {OpKind::all_reduce_amax, OpKind::all_reduce},
    {OpKind::sum_expert_copies, OpKind::all_to_all},
    {OpKind::spread_experts, OpKind::all_to_all},
    {OpKind::exchange_rows, OpKind::all_to_all},
    {OpKind::exchange_sorted, OpKind::all_to_all},
    {OpKind::exchange_tokens, OpKind::all_to_all},
    {OpKind::exchange_rows_back, OpKind::all_to_all_back},
    {OpKind::exchange_sorted_back, OpKind::all_to_all_back},
    {OpKind::exchange_tokens_back, OpKind::all_to_all_back},
    {OpKind::offload_state, OpKind::offload},
    {OpKind::offload_gradients, OpKind::offload},
    {OpKind::reload_state, OpKind::reload},
    {OpKind::reload_weights, OpKind::reload},
    {OpKind::muon_momentum, OpKind::momentum},
    {OpKind::cast_weights, OpKind::copy}};

// By kind: itself where it is of no other's family.
constexpr auto kFamilies = [] {
  std::array<OpKind, kOpKinds> families{};
  for (std::size_t i = 0; i < kOpKinds; ++i) families[i] = static_cast<OpKind>(i);
  for (const auto& [kind, family] : kOfFamily) families[static_cast<std::size_t>(kind)] = family;
  return families;
}();

}  // namespace

std::string name_of(OpKind kind) {
  switch (kind) {
    case OpKind::load_tokens: return "load_tokens";
    case OpKind::load_labels: return "load_labels";
    case OpKind::embedding: return "embedding";
    case OpKind::embedding_bwd: return "embedding_bwd";
    case OpKind::rms_norm:
    case OpKind::layer_norm: return "rms_norm";
    case OpKind::rms_norm_quantize: return "rms_norm_quantize";
    case OpKind::rms_norm_bwd:
    case OpKind::layer_norm_bwd: return "rms_norm_bwd";
    case OpKind::head_norm: return "head_norm";
    case OpKind::head_norm_bwd: return "head_norm_bwd";
    case OpKind::slice_norm: return "slice_norm";
    case OpKind::slice_norm_bwd: return "slice_norm_bwd";
    case OpKind::gemm: return "gemm";
    case OpKind::grouped_gemm: return "grouped_gemm";
    case OpKind::rope: return "rope";
    case OpKind::rope_bwd: return "rope_bwd";
    case OpKind::attention: return "attention";
    case OpKind::attention_bwd: return "attention_bwd";
    case OpKind::mla_attention: return "mla_attention";
    case OpKind::mla_attention_bwd: return "mla_attention_bwd";
    case OpKind::split_heads: return "split_heads";
    case OpKind::join_heads: return "join_heads";
    case OpKind::order_tokens: return "order_tokens";
    case OpKind::order_ranks: return "order_ranks";
    case OpKind::pack_keys: return "pack_keys";
    case OpKind::unpack_keys: return "unpack_keys";
    case OpKind::add: return "add";
    case OpKind::swiglu: return "swiglu";
    case OpKind::swiglu_bwd: return "swiglu_bwd";
    case OpKind::gelu: return "gelu";
    case OpKind::gelu_bwd: return "gelu_bwd";
    case OpKind::swiglu_prob: return "swiglu_prob";
    case OpKind::swiglu_quantize: return "swiglu_quantize";
    case OpKind::swiglu_prob_bwd: return "swiglu_prob_bwd";
    case OpKind::sigmoid_gate: return "sigmoid_gate";
    case OpKind::sigmoid_gate_bwd: return "sigmoid_gate_bwd";
    case OpKind::pointwise:
    case OpKind::wire_conversion: return "pointwise";
    case OpKind::pointwise_bwd: return "pointwise_bwd";
    case OpKind::token_mixing: return "token_mixing";
    case OpKind::token_mixing_bwd: return "token_mixing_bwd";
    case OpKind::selected_attention: return "selected_attention";
    case OpKind::selected_attention_bwd: return "selected_attention_bwd";
    case OpKind::router_topk: return "router_topk";
    case OpKind::router_topk_bwd: return "router_topk_bwd";
    case OpKind::drop_tokens: return "drop_tokens";
    case OpKind::router_stats: return "router_stats";
    case OpKind::router_losses: return "router_losses";
    case OpKind::router_losses_bwd: return "router_losses_bwd";
    case OpKind::count_load: return "count_load";
    case OpKind::update_bias: return "update_bias";
    case OpKind::past_amax: return "past_amax";
    case OpKind::keep_amax: return "keep_amax";
    case OpKind::place_experts: return "place_experts";
    case OpKind::expert_counts: return "expert_counts";
    case OpKind::permute: return "permute";
    case OpKind::permute_bwd: return "permute_bwd";
    case OpKind::sort_chunks: return "sort_chunks";
    case OpKind::unsort_chunks: return "unsort_chunks";
    case OpKind::local_counts: return "local_counts";
    case OpKind::unpermute: return "unpermute";
    case OpKind::unpermute_bwd: return "unpermute_bwd";
    case OpKind::concat_columns: return "concat_columns";
    case OpKind::concat_columns_bwd: return "concat_columns_bwd";
    case OpKind::concat_rows: return "concat_rows";
    case OpKind::concat_rows_bwd: return "concat_rows_bwd";
    case OpKind::ce_stats: return "ce_stats";
    case OpKind::ce_loss: return "ce_loss";
    case OpKind::quantize:
    case OpKind::quantize_weight:
    case OpKind::quantize_weights:
    case OpKind::transpose_codes: return "quantize";
    case OpKind::all_gather:
    case OpKind::gather_keys:
    case OpKind::gather_counts:
    case OpKind::gather_peer_rows:
    case OpKind::gather_picked_rows:
    case OpKind::gather_weights:
    case OpKind::gather_bucket:
    case OpKind::gather_matrix: return "all_gather";
    case OpKind::reduce_scatter:
    case OpKind::reduce_key_gradients:
    case OpKind::reduce_peer_rows:
    case OpKind::reduce_picked_rows:
    case OpKind::reduce_gradients:
    case OpKind::reduce_bucket: return "reduce_scatter";
    case OpKind::all_reduce:
    case OpKind::all_reduce_bucket:
    case OpKind::all_reduce_replicated:
    case OpKind::all_reduce_amax: return "all_reduce";
    case OpKind::sum_expert_copies:
    case OpKind::spread_experts:
    case OpKind::all_to_all:
    case OpKind::exchange_rows:
    case OpKind::exchange_sorted:
    case OpKind::exchange_tokens: return "all_to_all";
    case OpKind::all_to_all_back:
    case OpKind::exchange_rows_back:
    case OpKind::exchange_sorted_back:
    case OpKind::exchange_tokens_back: return "all_to_all_back";
    case OpKind::ring_shift: return "ring_shift";
    case OpKind::send: return "send";
    case OpKind::recv: return "recv";
    case OpKind::offload:
    case OpKind::offload_state:
    case OpKind::offload_gradients: return "offload";
    case OpKind::reload:
    case OpKind::reload_state:
    case OpKind::reload_weights: return "reload";
    case OpKind::release: return "release";
    case OpKind::zero: return "zero";
    case OpKind::grad_norm: return "grad_norm";
    case OpKind::clip: return "clip";
    case OpKind::adamw: return "adamw";
    case OpKind::lamb: return "lamb";
    case OpKind::lamb_norms: return "lamb_norms";
    case OpKind::lamb_step: return "lamb_step";
    case OpKind::momentum:
    case OpKind::muon_momentum: return "momentum";
    case OpKind::newton_schulz: return "newton_schulz";
    case OpKind::step_matrix: return "step_matrix";
    case OpKind::copy:
    case OpKind::cast_weights: return "copy";
  }
  return "?";
}

std::string name_of(Phase phase) {
  switch (phase) {
    case Phase::forward: return "fwd";
    case Phase::backward: return "bwd";
    case Phase::wgrad: return "wgrad";
    case Phase::recompute: return "recompute";
    case Phase::step: return "step";
  }
  return "?";
}

std::string name_of(Group group) {
  switch (group) {
    case Group::none: return "-";
    case Group::tp: return "tp";
    case Group::cp: return "cp";
    case Group::dp: return "dp";
    case Group::dp_cp: return "dp_cp";
    case Group::ep: return "ep";
    case Group::etp: return "etp";
    case Group::edp: return "edp";
    case Group::pp_next: return "pp_next";
    case Group::pp_prev: return "pp_prev";
    case Group::embedding: return "embedding";
    case Group::world: return "world";
    case Group::cp_heads: return "cp_heads";
    case Group::cp_ring: return "cp_ring";
    case Group::etp_ep: return "etp_ep";
    case Group::dp_shard: return "dp_shard";
    case Group::dp_replicas: return "dp_replicas";
    case Group::edp_shard: return "edp_shard";
    case Group::edp_replicas: return "edp_replicas";
    case Group::copies: return "copies";
  }
  return "?";
}

OpKind family_of(OpKind kind) { return kFamilies[static_cast<std::size_t>(kind)]; }

bool is_collective(OpKind kind) {
  const OpKind family = family_of(kind);
  return family == OpKind::all_gather || family == OpKind::reduce_scatter ||
         family == OpKind::all_reduce || family == OpKind::all_to_all ||
         family == OpKind::all_to_all_back || family == OpKind::ring_shift ||
         family == OpKind::send || family == OpKind::recv;
}

bool is_in_place(OpKind kind) {
  const OpKind family = family_of(kind);
  return family == OpKind::rope || family == OpKind::rope_bwd || family == OpKind::ce_loss ||
         family == OpKind::all_reduce || family == OpKind::router_losses_bwd ||
         family == OpKind::update_bias || family == OpKind::past_amax ||
         family == OpKind::keep_amax;
}

}  // namespace pleat
