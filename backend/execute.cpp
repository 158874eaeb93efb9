// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which kernel or collective each kind of operation is. Operands are positional, as
// core/program/op.hpp says at each kind.
#include <fmt/format.h>

#include "backend/executor.hpp"

namespace pleat {
namespace {

View optional_view(std::span<const View> views, std::size_t index) {
  return index < views.size() ? views[index] : View{};
}

std::span<std::int32_t> integers(View v) {
  return {v.i32(), static_cast<std::size_t>(v.elements())};
}

}  // namespace

void Executor::dispatch(const Call& c) {
  const auto& in = c.in;
  const auto& out = c.out;
  const OpAttributes& attr = c.op.attr;
  KernelSet& k = kernels_;
  const AttentionShape heads{attr.batch,     attr.seq,      attr.heads,
                             attr.kv_groups, attr.head_dim, attr.scale};
  const auto vocabulary = [&](View logits) {
    return VocabShard{context_.attention().tp * logits.cols, program_.model.vocab};
  };
  switch (c.op.kind) {
    case OpKind::load_tokens:
      return batches_.tokens(step_, c.site->microbatch.value, context_.attention().dp,
                             integers(out[0]));
    case OpKind::load_labels:
      return batches_.labels(step_, c.site->microbatch.value, context_.attention().dp,
                             integers(out[0]));
    case OpKind::embedding:
      return k.embedding(in[0], in[1], context_.attention().tp * in[1].rows, out[0]);
    case OpKind::embedding_bwd:
      return k.embedding_bwd(in[0], in[1], context_.attention().tp * out[0].rows, out[0]);
    case OpKind::rms_norm:
      return k.rms_norm(in[0], in[1], out[0], out[1], attr.eps);
    case OpKind::rms_norm_bwd:
      return k.rms_norm_bwd(in[0], in[1], in[2], in[3], optional_view(in, 4), out[0], out[1]);
    case OpKind::head_norm:
      return k.head_norm(in[0], in[1], in[2], out[0], out[1], heads, attr.eps);
    case OpKind::head_norm_bwd:
      return k.head_norm_bwd(in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2], heads);
    case OpKind::slice_norm:
      return k.slice_norm(in[0], in[1], out[0], out[1], attr.eps);
    case OpKind::slice_norm_bwd:
      return k.slice_norm_bwd(in[0], in[1], in[2], in[3], out[0], out[1]);
    case OpKind::gemm:
      return k.gemm(in[0], attr.transpose_a, in[1], attr.transpose_b, out[0], attr.accumulate);
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
    case OpKind::add:
      return k.add(in[0], in[1], optional_view(in, 2), out[0]);
    case OpKind::swiglu:
      return k.swiglu(in[0], {}, out[0]);
    case OpKind::swiglu_bwd:
      return k.swiglu_bwd(in[0], in[1], {}, out[0], {});
    case OpKind::gelu:
      return k.gelu(in[0], out[0]);
    case OpKind::gelu_bwd:
      return k.gelu_bwd(in[0], in[1], out[0]);
    case OpKind::swiglu_prob:
      return k.swiglu(in[0], in[1], out[0]);
    case OpKind::swiglu_prob_bwd:
      return k.swiglu_bwd(in[0], in[1], in[2], out[0], out[1]);
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
                       attr.scale * batches_.loss_weight(step_), out[1]);
    case OpKind::all_gather:
    case OpKind::reduce_scatter:
    case OpKind::all_reduce:
      return collective(c);
    case OpKind::all_to_all:
      return exchange_rows(c, false);
    case OpKind::all_to_all_back:
      return exchange_rows(c, true);
    case OpKind::send:
    case OpKind::recv:
      return send_or_recv(c);
    case OpKind::zero:
      return k.zero(out[0]);
    case OpKind::copy:
      return k.copy(in[0], out[0]);
    case OpKind::grad_norm:
      return grad_norm(c);
    case OpKind::clip:
      return clip(c);
    case OpKind::adamw:
      return adamw(c);
    case OpKind::concat_columns:
    case OpKind::concat_columns_bwd:
    case OpKind::concat_rows:
    case OpKind::concat_rows_bwd:
    case OpKind::pointwise:
    case OpKind::pointwise_bwd:
    case OpKind::token_mixing:
    case OpKind::token_mixing_bwd:
    case OpKind::momentum:
    case OpKind::newton_schulz:
    case OpKind::quantize:
    case OpKind::offload:
    case OpKind::reload:
    case OpKind::release:
      break;  // train() refuses plans and models that compile to these
  }
  throw ExecutionError(
      fmt::format("operation '{}': this backend has no {}", c.op.name, name_of(c.op.kind)));
}

}  // namespace pleat
