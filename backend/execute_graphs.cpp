// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which operations Plan::cuda_graph puts into graphs of the device. A graph repeats its kernels
// with the addresses and numbers they were given: what the host sends or makes anew for a step stays
// out, but for rows that a graph copies from where the host writes them before (execute_host_rows.cpp).
#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/graph_scope.hpp"

namespace pleat {
namespace {

// Kernels with nothing beside operands and attributes, and copies of the host's rows from memory
// that it writes before the graph runs.
constexpr OpKind kPlain[] = {OpKind::rms_norm,
                             OpKind::layer_norm,
                             OpKind::layer_norm_bwd,
                             OpKind::rms_norm_bwd,
                             OpKind::head_norm,
                             OpKind::head_norm_bwd,
                             OpKind::slice_norm,
                             OpKind::slice_norm_bwd,
                             OpKind::gemm,
                             OpKind::grouped_gemm,
                             OpKind::concat_columns,
                             OpKind::concat_columns_bwd,
                             OpKind::concat_rows,
                             OpKind::concat_rows_bwd,
                             OpKind::split_heads,
                             OpKind::join_heads,
                             OpKind::order_tokens,
                             OpKind::order_ranks,
                             OpKind::pack_keys,
                             OpKind::unpack_keys,
                             OpKind::add,
                             OpKind::swiglu,
                             OpKind::swiglu_bwd,
                             OpKind::gelu,
                             OpKind::gelu_bwd,
                             OpKind::swiglu_prob,
                             OpKind::swiglu_prob_bwd,
                             OpKind::sigmoid_gate,
                             OpKind::sigmoid_gate_bwd,
                             OpKind::pointwise,
                             OpKind::wire_conversion,
                             OpKind::pointwise_bwd,
                             OpKind::router_topk_bwd,
                             OpKind::router_stats,
                             OpKind::router_losses,
                             OpKind::router_losses_bwd,
                             OpKind::count_load,
                             OpKind::permute,
                             OpKind::permute_bwd,
                             OpKind::sort_chunks,
                             OpKind::unsort_chunks,
                             OpKind::local_counts,
                             OpKind::unpermute,
                             OpKind::unpermute_bwd,
                             OpKind::drop_tokens,
                             OpKind::expert_counts,
                             OpKind::load_tokens,
                             OpKind::load_labels,
                             OpKind::ce_stats,
                             OpKind::zero,
                             OpKind::copy,
                             OpKind::release};

// Their operands where the whole core is one kernel.
constexpr std::pair<OpKind, std::size_t> kOfPositions[] = {
    {OpKind::attention, 1},         {OpKind::attention_bwd, 4}, {OpKind::mla_attention, 3},
    {OpKind::mla_attention_bwd, 6}, {OpKind::rope, 1},          {OpKind::rope_bwd, 1}};

bool has_counts_to_read(const Op& op) {
  return (op.kind == OpKind::drop_tokens || op.kind == OpKind::expert_counts) && !op.attr.padded;
}

bool is_one_of(OpKind kind, std::span<const OpKind> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

}  // namespace

bool Executor::has_kernels_alone(const Op& op) const {
  if (op.kind == OpKind::router_topk) return !config_.forced_routing && !config_.measure_margin;
  if (op.kind == OpKind::ce_loss) return !batches_->rules().mask_loss;  // else a weight of the step
  if (op.kind == OpKind::embedding) return op.in.size() == 2;           // without positions
  if (op.kind == OpKind::embedding_bwd) return op.out.size() == 1;
  for (const auto& [kind, operands] : kOfPositions) {
    if (op.kind != kind) continue;
    // Else the host makes tables for the call.
    return op.in.size() == operands && op.attr.window == 0 && program_.plan.attention.cp == 1 &&
           program_.workload.documents.empty() && !batches_->rules().reset_attention &&
           !batches_->rules().reset_positions;
  }
  return is_one_of(op.kind, kPlain);
}

bool Executor::in_graph(const Op& op, const OpSite* site) const {
  if (!graphs_ || site == nullptr || spans_ != nullptr || op.on_host || op.host_sync) return false;
  if (!is_in_scope(program_.plan.cuda_graph, op)) return false;
  // Products of codes read scales beside their operands, whose memory may be another every time.
  if (is_quantized(op.attr.math)) return false;
  const auto may_repeat = [&](TensorId id) {
    const Tensor& t = site->program->tensor(id);
    return !is_quantized(t.dtype) && (!t.is_routed() || program_.workload.pad_to_capacity);
  };
  return has_kernels_alone(op) && std::ranges::all_of(op.in, may_repeat) &&
         std::ranges::all_of(op.out, may_repeat);
}

// What the host has to read of a graph's results ends the graph.
void Executor::add_to_graph(const Call& c) {
  graphs_->add(*c.site, c.in, c.out, staged(c));
  if (has_counts_to_read(c.op)) run_waiting();
  learn_rows(c);
}

// The operation's rows of this microbatch, in memory of their own: a graph copies from there in
// every step, the last one's copies are done by then.
View Executor::staged(const Call& c) {
  View rows = hosts_rows(c);
  if (rows.data == nullptr) return {};
  Block& block = staged_[{&c.op, c.site->instance, c.site->microbatch.value}];
  if (block.bytes() < byte_count(rows)) block = pinned_.allocate(byte_count(rows));
  rows.data = block.data();
  fill_hosts_rows(c, rows);
  return rows;
}

void Executor::run_waiting() {
  if (!graphs_) return;
  graphs_->flush([this](const GraphCache::Waiting& w) {
    dispatch({*w.site.op, &w.site, w.in, w.out, w.staged});
    if (config_.after_op) config_.after_op(context_.rank(), *w.site.op, w.out);
  });
}

}  // namespace pleat
