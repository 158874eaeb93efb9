// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel or collective each kind of operation is. Operands are positional, as
// core/program/op.hpp says at each kind.
#include <fmt/format.h>

#include <algorithm>

#include "backend/executor.hpp"
#include "backend/runtime/host_access.hpp"

namespace pleat {
namespace {

View optional_view(std::span<const View> views, std::size_t index) {
  return index < views.size() ? views[index] : View{};
}

}  // namespace

// The bias of the forward product, or its gradient beside the weight's.
void Executor::gemm(const Call& c) {
  const OpAttributes& a = c.op.attr;
  kernels_.gemm(c.in[0], a.transpose_a, second_operand(c), a.transpose_b, c.out[0], a.accumulate);
  if (!a.transpose_a && c.in.size() > 2) kernels_.add_bias(c.in[2], a.bias_scale, c.out[0]);
  if (c.out.size() > 1) kernels_.add_bias_bwd(bias_gradient_operand(c), a.bias_scale, c.out[1]);
}

// Whether the product that makes a weight's gradient reads rows that a Hadamard matrix has mixed.
bool Executor::turned_gradient(const Op& op) { return op.attr.math == DType::nvfp4; }

// What a bias' gradient is the sum of: the rows themselves, which come last where the product has others.
View Executor::bias_gradient_operand(const Call& c) {
  return turned_gradient(c.op) ? c.in.back() : c.in[0];
}

void Executor::pointwise_backward(const Call& c) {
  kernels_.pointwise_bwd(c.op.attr.function, c.in[0], c.in[1], optional_view(c.in, 2), c.out[0],
                         optional_view(c.out, 1));
  add_gradient_so_far(c);
}

// Of the second operand, the probabilities, when fc2's bias counts with them too.
void Executor::add_gradient_so_far(const Call& c) {
  if (c.in.size() > 3) kernels_.add(c.out[1], c.in[3], {}, c.out[1]);
}

void Executor::dispatch(const Call& c) {
  const auto& in = c.in;
  const auto& out = c.out;
  const OpAttributes& attr = c.op.attr;
  KernelSet& k = kernels_;
  const AttentionShape heads{attr.batch,    attr.seq,   attr.heads, attr.kv_groups,
                             attr.head_dim, attr.scale, attr.v_dim};
  const auto vocabulary = [&](View logits) {
    return VocabShard{context_.attention().tp * logits.cols, program_.model.vocab};
  };
  switch (c.op.kind) {
    case OpKind::load_tokens:
    case OpKind::load_labels:
      return upload(c);
    case OpKind::embedding:
      k.embedding(in[0], in[1], context_.attention().tp * in[1].rows, out[0]);
      return add_positions(c);
    case OpKind::embedding_bwd:
      k.embedding_bwd(in[0], in[1], context_.attention().tp * out[0].rows, out[0]);
      return add_positions(c);
    case OpKind::rms_norm:
      return k.rms_norm(in[0], in[1], out[0], out[1], attr.eps);
    case OpKind::layer_norm:
      return k.layer_norm(in[0], in[1], out[0], out[1], attr.eps);
    case OpKind::rms_norm_quantize:
      return rms_norm_quantize(c);
    case OpKind::rms_norm_bwd:
      return k.rms_norm_bwd(in[0], in[1], in[2], in[3], optional_view(in, 4), out[0], out[1]);
    case OpKind::layer_norm_bwd:
      return k.layer_norm_bwd(in[0], in[1], in[2], in[3], optional_view(in, 4), out[0], out[1]);
    case OpKind::head_norm:
      return k.head_norm(in[0], in[1], in[2], out[0], out[1], heads, attr.eps);
    case OpKind::head_norm_bwd:
      return k.head_norm_bwd(in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2], heads);
    case OpKind::slice_norm:
      return k.slice_norm(in[0], in[1], out[0], out[1], attr.eps);
    case OpKind::slice_norm_bwd:
      return k.slice_norm_bwd(in[0], in[1], in[2], in[3], out[0], out[1]);
    case OpKind::gemm:
      return gemm(c);
    case OpKind::grouped_gemm:
      return grouped_gemm(c);
    case OpKind::rope:
      return rope(c, false);
    case OpKind::rope_bwd:
      return rope(c, true);
    case OpKind::attention:
    case OpKind::mla_attention:
      return attention(c);
    case OpKind::attention_bwd:
    case OpKind::mla_attention_bwd:
      return attention_backward(c);
    case OpKind::concat_columns:
      return k.concat_columns(in[0], in[1], out[0]);
    case OpKind::concat_columns_bwd:
      return k.concat_columns_bwd(in[0], out[0], out[1]);
    case OpKind::concat_rows:
      for (std::int64_t row = 0; const View& part : in) {
        k.copy(part, rows_of(out[0], row, part.rows));
        row += part.rows;
      }
      return;
    case OpKind::concat_rows_bwd:
      for (std::int64_t row = 0; const View& part : out) {
        k.copy(rows_of(in[0], row, part.rows), part);
        row += part.rows;
      }
      return;
    case OpKind::split_heads:
      return exchange_columns(c, true);
    case OpKind::join_heads:
      return exchange_columns(c, false);
    case OpKind::order_tokens:
      return exchange_rows_order(c, true);
    case OpKind::order_ranks:
      return exchange_rows_order(c, false);
    case OpKind::pack_keys:
      return pack_keys(c, out[0]);
    case OpKind::unpack_keys:
      return unpack_keys(c, in[0]);
    case OpKind::ring_shift:
      return ring_shift(c);
    case OpKind::add:
      return k.add(in[0], in[1], optional_view(in, 2), out[0]);
    case OpKind::swiglu:
    case OpKind::swiglu_prob:
      if (attr.function != Elementwise::none) {
        return k.pointwise(attr.function, in[0], optional_view(in, 1), out[0]);
      }
      return k.swiglu(in[0], optional_view(in, 1), out[0]);
    case OpKind::swiglu_quantize:
      return k.swiglu_quantize(in[0], optional_view(in, 1), optional_view(in, 2), unstored(c), false,
                               quantized_copies(c));
    case OpKind::swiglu_bwd:
    case OpKind::swiglu_prob_bwd:
      if (attr.function != Elementwise::none) return pointwise_backward(c);
      k.swiglu_bwd(in[0], in[1], optional_view(in, 2), out[0], optional_view(out, 1));
      return add_gradient_so_far(c);
    case OpKind::gelu:
      return k.gelu(in[0], out[0]);
    case OpKind::gelu_bwd:
      return k.gelu_bwd(in[0], in[1], out[0]);
    case OpKind::sigmoid_gate:
      return k.sigmoid_gate(in[0], in[1], out[0]);
    case OpKind::sigmoid_gate_bwd:
      return k.sigmoid_gate_bwd(in[0], in[1], in[2], out[0], out[1]);
    case OpKind::router_topk:
      return router(c);
    case OpKind::router_topk_bwd:
      return router_backward(c);
    case OpKind::drop_tokens:
      return drop_tokens(c);
    case OpKind::router_stats:
    case OpKind::router_losses:
    case OpKind::router_losses_bwd:
      return router_losses(c);
    case OpKind::count_load:
      return k.count_load(in[0], out[0]);
    case OpKind::update_bias:
      return update_bias(c);
    case OpKind::expert_counts:
      return count_copies(c);
    case OpKind::permute:
      return permute(c);
    case OpKind::permute_bwd:
      return permute_backward(c);
    case OpKind::sort_chunks:
      return reorder_chunks(c, true);
    case OpKind::unsort_chunks:
      return reorder_chunks(c, false);
    case OpKind::local_counts:
      return k.local_counts(in[0], context_.expert().ep * attr.local_experts, attr.local_experts,
                            out[0]);
    case OpKind::unpermute:
      return k.unpermute(in[0], in[1], out[0]);
    case OpKind::unpermute_bwd:
      return k.unpermute_bwd(in[0], in[1], out[0]);
    case OpKind::ce_stats:
      return k.ce_stats(in[0], in[1], vocabulary(in[0]), out[0]);
    case OpKind::ce_loss:
      return k.ce_loss(in[0], in[1], vocabulary(in[0]), in[2],
                       attr.scale * batches_->loss_weight(step_),
                       {.every = attr.depth_rows,
                        .scale = attr.mtp_scale * batches_->loss_weight(step_),
                        .depths = std::max<std::int64_t>(1, attr.depths),
                        .seq = attr.seq},
                       out[1]);
    case OpKind::all_gather:
    case OpKind::gather_keys:
    case OpKind::gather_counts:
    case OpKind::gather_peer_rows:
    case OpKind::gather_picked_rows:
    case OpKind::gather_weights:
    case OpKind::gather_bucket:
    case OpKind::gather_matrix:
    case OpKind::reduce_scatter:
    case OpKind::reduce_key_gradients:
    case OpKind::reduce_peer_rows:
    case OpKind::reduce_picked_rows:
    case OpKind::reduce_gradients:
    case OpKind::reduce_bucket:
    case OpKind::all_reduce:
    case OpKind::all_reduce_bucket:
    case OpKind::all_reduce_replicated:
      return collective(c);
    case OpKind::all_to_all:
    case OpKind::exchange_rows:
    case OpKind::exchange_sorted:
    case OpKind::exchange_tokens:
      return exchange_rows(c, false);
    case OpKind::all_to_all_back:
    case OpKind::exchange_rows_back:
    case OpKind::exchange_sorted_back:
    case OpKind::exchange_tokens_back:
      return exchange_rows(c, true);
    case OpKind::send:
    case OpKind::recv:
      return send_or_recv(c);
    case OpKind::offload:
    case OpKind::offload_state:
    case OpKind::offload_gradients:
      return offload(c);
    case OpKind::reload:
    case OpKind::reload_state:
    case OpKind::reload_weights:
      return reload(c);
    case OpKind::release:
      return;  // its tensor dies after it
    case OpKind::zero:
      return kernels_at(out[0]).zero(named_part(c.op, out[0]));
    case OpKind::copy:
    case OpKind::cast_weights:
      return cast_weights(c);
    case OpKind::quantize_weights:
      return quantize_weights(c);
    case OpKind::quantize:
    case OpKind::quantize_weight:
    case OpKind::transpose_codes:
      return quantize(c);
    case OpKind::grad_norm:
      return grad_norm(c);
    case OpKind::clip:
      return clip(c);
    case OpKind::adamw:
      return adamw(c);
    case OpKind::lamb:
      return lamb(c);
    case OpKind::lamb_norms:
      return lamb_norms(c);
    case OpKind::lamb_step:
      return lamb_step(c);
    case OpKind::momentum:
    case OpKind::muon_momentum:
      return momentum(c);
    case OpKind::newton_schulz:
      return newton_schulz(c);
    case OpKind::step_matrix:
      return step_matrix(c);
    case OpKind::wire_conversion:
      return;  // the exchange beside it makes it
    case OpKind::pointwise:
      if (attr.function == Elementwise::none) break;
      return k.pointwise(attr.function, in[0], optional_view(in, 1), out[0]);
    case OpKind::pointwise_bwd:
      if (attr.function == Elementwise::none) break;
      return pointwise_backward(c);
    case OpKind::token_mixing:
    case OpKind::token_mixing_bwd:
      break;  // train() refuses plans and models that compile to these
  }
  throw ExecutionError(
      fmt::format("operation '{}': this backend has no {}", c.op.name, name_of(c.op.kind)));
}

}  // namespace pleat
