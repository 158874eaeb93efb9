// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/op_table.hpp"

#include <array>

#include "backend/execute/attention.hpp"
#include "backend/execute/bucket_collectives.hpp"
#include "backend/execute/collectives.hpp"
#include "backend/execute/context_parallel.hpp"
#include "backend/execute/delayed_scaling.hpp"
#include "backend/execute/embedding_and_loss.hpp"
#include "backend/execute/execution.hpp"
#include "backend/execute/expert_exchange.hpp"
#include "backend/execute/expert_rows.hpp"
#include "backend/execute/gradient_norm.hpp"
#include "backend/execute/host_memory.hpp"
#include "backend/execute/main_params.hpp"
#include "backend/execute/not_executed.hpp"
#include "backend/execute/optimizers.hpp"
#include "backend/execute/placed_experts.hpp"
#include "backend/execute/products.hpp"
#include "backend/execute/quantization.hpp"
#include "backend/execute/router.hpp"
#include "backend/execute/rowwise.hpp"
#include "backend/execute/sharded_layers.hpp"
#include "backend/execute/token_exchange.hpp"

namespace pleat::execute {
namespace {

// --- which operations a graph may repeat (OpEntry::repeats)

bool always(const Op&, const Execution&) { return true; }

// Learned positions are looked up by place in a document, which the host works out in every step.
bool without_positions(const Op& op, const Execution&) {
  return op.kind == OpKind::embedding ? op.in.size() == 2 : op.out.size() == 1;
}

bool as_the_kernel_routes(const Op&, const Execution& run) {
  return !run.config.forced_routing && !run.config.measure_margin;
}

// Otherwise the host scales the loss by how many tokens of the step count.
bool all_tokens_count(const Op&, const Execution& run) {
  return !run.batches->rules().mask_loss;
}

// Where the core is one kernel and positions are rows. Else the host makes tables for each call.
bool whole_sequences(const Op& op, const Execution& run) {
  const PackingRules& rules = run.batches->rules();
  return op.attr.window == 0 && run.program.plan.attention.cp == 1 &&
         run.program.workload.documents.empty() && !rules.reset_attention &&
         !rules.reset_positions;
}

bool without_sinks(const Op& op, const Execution& run) {
  const bool mla = op.kind == OpKind::mla_attention || op.kind == OpKind::mla_attention_bwd;
  const bool backward =
      op.kind == OpKind::attention_bwd || op.kind == OpKind::mla_attention_bwd;
  const std::size_t operands = mla ? (backward ? 6 : 3) : (backward ? 4 : 1);
  return op.in.size() == operands && whole_sequences(op, run);
}

// --- results whose rows the host has

bool has_counts_to_read(const Op& op, const Execution&) { return !op.attr.padded; }
bool has_unknown_counts(const Op& op, const Execution& run) {
  return !op.attr.padded && !run.rows.are_all_kept();
}

View first_result(const Call& c) { return c.out[0]; }
View padded_counts(const Call& c) { return c.op.attr.padded ? c.out[0] : View{}; }
View padded_counts_of_kept(const Call& c) { return c.op.attr.padded ? c.out[1] : View{}; }

// --- the table: a line for each kind, by subject

OpEntry make_entry(OpKind kind) {
  switch (kind) {
    // --- data
    case OpKind::load_tokens:
      return {
          .run = load_tokens, .hosts_rows = first_result, .fill = fill_tokens, .repeats = always};
    case OpKind::load_labels:
      return {
          .run = load_labels, .hosts_rows = first_result, .fill = fill_labels, .repeats = always};
    // --- embedding
    case OpKind::embedding: return {.run = embedding, .repeats = without_positions};
    case OpKind::embedding_bwd: return {.run = embedding_bwd, .repeats = without_positions};
    // --- norms
    case OpKind::rms_norm: return {.run = rms_norm, .repeats = always};
    case OpKind::rms_norm_bwd: return {.run = rms_norm_bwd, .repeats = always};
    case OpKind::layer_norm: return {.run = layer_norm, .repeats = always};
    case OpKind::layer_norm_bwd: return {.run = layer_norm_bwd, .repeats = always};
    case OpKind::rms_norm_quantize: return {.run = rms_norm_quantize};
    case OpKind::head_norm: return {.run = head_norm, .repeats = always};
    case OpKind::head_norm_bwd: return {.run = head_norm_bwd, .repeats = always};
    case OpKind::slice_norm: return {.run = slice_norm, .repeats = always};
    case OpKind::slice_norm_bwd: return {.run = slice_norm_bwd, .repeats = always};
    // --- matrix products
    case OpKind::gemm: return {.run = gemm, .repeats = always};
    case OpKind::grouped_gemm: return {.run = grouped_gemm, .repeats = always};
    // --- attention
    case OpKind::rope: return {.run = rope, .repeats = whole_sequences};
    case OpKind::rope_bwd: return {.run = rope_bwd, .repeats = whole_sequences};
    case OpKind::attention:
    case OpKind::mla_attention: return {.run = attention, .repeats = without_sinks};
    case OpKind::attention_bwd:
    case OpKind::mla_attention_bwd: return {.run = attention_backward, .repeats = without_sinks};
    // --- context parallelism
    case OpKind::split_heads: return {.run = split_heads, .repeats = always};
    case OpKind::join_heads: return {.run = join_heads, .repeats = always};
    case OpKind::order_tokens: return {.run = order_tokens, .repeats = always};
    case OpKind::order_ranks: return {.run = order_ranks, .repeats = always};
    case OpKind::pack_keys: return {.run = pack_keys, .repeats = always};
    case OpKind::unpack_keys: return {.run = unpack_keys, .repeats = always};
    case OpKind::gather_keys: return {.run = gather_keys};
    case OpKind::reduce_key_gradients: return {.run = reduce_key_gradients};
    case OpKind::ring_shift: return {.run = ring_shift};
    // --- element-wise
    case OpKind::add: return {.run = add, .repeats = always};
    case OpKind::swiglu:
    case OpKind::swiglu_prob: return {.run = swiglu, .repeats = always};
    case OpKind::swiglu_bwd:
    case OpKind::swiglu_prob_bwd: return {.run = swiglu_bwd, .repeats = always};
    case OpKind::swiglu_quantize: return {.run = swiglu_quantize};
    case OpKind::gelu: return {.run = gelu, .repeats = always};
    case OpKind::gelu_bwd: return {.run = gelu_bwd, .repeats = always};
    case OpKind::sigmoid_gate: return {.run = sigmoid_gate, .repeats = always};
    case OpKind::sigmoid_gate_bwd: return {.run = sigmoid_gate_bwd, .repeats = always};
    case OpKind::pointwise: return {.run = pointwise, .repeats = always};
    case OpKind::pointwise_bwd: return {.run = pointwise_bwd, .repeats = always};
    case OpKind::wire_conversion: return {.run = nothing_to_do, .repeats = always};
    case OpKind::concat_columns: return {.run = concat_columns, .repeats = always};
    case OpKind::concat_columns_bwd: return {.run = concat_columns_bwd, .repeats = always};
    case OpKind::concat_rows: return {.run = concat_rows, .repeats = always};
    case OpKind::concat_rows_bwd: return {.run = concat_rows_bwd, .repeats = always};
    // --- mixture of experts
    case OpKind::router_topk: return {.run = router_topk, .repeats = as_the_kernel_routes};
    case OpKind::router_topk_bwd: return {.run = router_topk_bwd, .repeats = always};
    case OpKind::router_stats: return {.run = router_stats, .repeats = always};
    case OpKind::router_losses: return {.run = router_losses, .repeats = always};
    case OpKind::router_losses_bwd: return {.run = router_losses_bwd, .repeats = always};
    case OpKind::count_load: return {.run = count_load, .repeats = always};
    case OpKind::drop_tokens:
      return {.run = drop_tokens,
              .learn = learn_kept,
              .learn_waits = has_counts_to_read,
              .hosts_rows = padded_counts_of_kept,
              .fill = fill_capacity,
              .repeats = always};
    case OpKind::place_experts: return {.run = place_experts, .repeats = always};
    case OpKind::expert_counts:
      return {.run = expert_counts,
              .learn = learn_counts,
              .learn_waits = has_unknown_counts,
              .hosts_rows = padded_counts,
              .fill = fill_capacity,
              .repeats = always};
    case OpKind::local_counts: return {.run = local_counts, .repeats = always};
    case OpKind::permute: return {.run = permute, .repeats = always};
    case OpKind::permute_bwd: return {.run = permute_bwd, .repeats = always};
    case OpKind::unpermute: return {.run = unpermute, .repeats = always};
    case OpKind::unpermute_bwd: return {.run = unpermute_bwd, .repeats = always};
    case OpKind::sort_chunks: return {.run = sort_chunks, .repeats = always};
    case OpKind::unsort_chunks: return {.run = unsort_chunks, .repeats = always};
    case OpKind::gather_counts: return {.run = gather_counts};
    case OpKind::gather_peer_rows: return {.run = gather_peer_rows};
    case OpKind::reduce_peer_rows: return {.run = reduce_peer_rows};
    case OpKind::gather_picked_rows: return {.run = gather_picked_rows};
    case OpKind::reduce_picked_rows: return {.run = reduce_picked_rows};
    case OpKind::exchange_rows: return {.run = exchange_rows};
    case OpKind::exchange_rows_back: return {.run = exchange_rows_back};
    case OpKind::exchange_sorted: return {.run = exchange_sorted};
    case OpKind::exchange_sorted_back: return {.run = exchange_sorted_back};
    case OpKind::exchange_tokens: return {.run = exchange_tokens};
    case OpKind::exchange_tokens_back: return {.run = exchange_tokens_back};
    // --- loss head
    case OpKind::ce_stats: return {.run = ce_stats, .repeats = always};
    case OpKind::ce_loss: return {.run = ce_loss, .repeats = all_tokens_count};
    // --- narrow operands
    case OpKind::quantize: return {.run = quantize};
    case OpKind::quantize_weight: return {.run = quantize_weight};
    case OpKind::quantize_weights: return {.run = quantize_weights};
    case OpKind::transpose_codes: return {.run = transpose_codes};
    // --- other collectives
    case OpKind::all_gather: return {.run = all_gather};
    case OpKind::reduce_scatter: return {.run = reduce_scatter};
    case OpKind::all_reduce: return {.run = all_reduce};
    case OpKind::all_to_all:
    case OpKind::all_to_all_back: return {.run = all_to_all};
    case OpKind::send: return {.run = send};
    case OpKind::recv: return {.run = recv};
    case OpKind::gather_weights: return {.run = gather_weights};
    case OpKind::reduce_gradients: return {.run = reduce_gradients};
    case OpKind::gather_bucket: return {.run = gather_bucket};
    case OpKind::reduce_bucket: return {.run = reduce_bucket};
    case OpKind::all_reduce_amax: return {.run = all_reduce_amax};
    case OpKind::all_reduce_bucket: return {.run = all_reduce_bucket};
    case OpKind::all_reduce_replicated: return {.run = all_reduce_replicated};
    case OpKind::sum_expert_copies: return {.run = sum_expert_copies};
    case OpKind::spread_experts: return {.run = spread_experts};
    // --- host memory
    case OpKind::offload: return {.run = offload};
    case OpKind::reload: return {.run = reload};
    case OpKind::release:  // its tensor dies after it
      return {.run = nothing_to_do, .repeats = always};
    case OpKind::offload_state: return {.run = offload_state};
    case OpKind::reload_state: return {.run = reload_state};
    case OpKind::offload_gradients: return {.run = offload_gradients};
    case OpKind::reload_weights: return {.run = reload_weights};
    // --- step
    case OpKind::zero: return {.run = zero, .repeats = always};
    case OpKind::copy: return {.run = copy, .repeats = always};
    case OpKind::grad_norm: return {.run = grad_norm};
    case OpKind::clip: return {.run = clip};
    case OpKind::adamw: return {.run = adamw};
    case OpKind::lamb: return {.run = lamb};
    case OpKind::lamb_norms: return {.run = lamb_norms};
    case OpKind::lamb_step: return {.run = lamb_step};
    case OpKind::momentum: return {.run = momentum};
    case OpKind::muon_momentum: return {.run = muon_momentum};
    case OpKind::gather_matrix: return {.run = gather_matrix};
    case OpKind::newton_schulz: return {.run = newton_schulz};
    case OpKind::step_matrix: return {.run = step_matrix};
    case OpKind::cast_weights: return {.run = cast_weights};
    case OpKind::update_bias: return {.run = update_bias};
    case OpKind::past_amax: return {.run = past_amax};
    case OpKind::keep_amax: return {.run = keep_amax};
    // --- priced alone
    case OpKind::token_mixing:
    case OpKind::token_mixing_bwd:
    case OpKind::selected_attention:
    case OpKind::selected_attention_bwd: return {.run = not_executed};
  }
  return {.run = not_executed};
}

}  // namespace

const OpEntry& entry_of(OpKind kind) {
  static const std::array<OpEntry, kOpKinds> entries = [] {
    std::array<OpEntry, kOpKinds> all{};
    for (std::size_t i = 0; i < kOpKinds; ++i) all[i] = make_entry(static_cast<OpKind>(i));
    return all;
  }();
  return entries[static_cast<std::size_t>(kind)];
}

}  // namespace pleat::execute
