// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations bound by memory: the bytes of every operand, except where a kernel touches only some
// rows or columns of it.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

double bytes_of_operand(const std::vector<Tensor>& tensors, TensorId id, const Binding& binding) {
  return static_cast<double>(tensors[id.index()].bytes(binding));
}

// Operations of the optimizer's step may work on a part of their operands: `n` elements of each.
bool on_part(const Op& op) {
  const OpKind family = family_of(op.kind);
  const bool step = family == OpKind::adamw || family == OpKind::momentum ||
                    family == OpKind::copy || family == OpKind::zero ||
                    family == OpKind::step_matrix || family == OpKind::lamb ||
                    family == OpKind::lamb_norms || family == OpKind::lamb_step ||
                    family == OpKind::update_bias || family == OpKind::past_amax ||
                    family == OpKind::keep_amax;
  return step && op.attr.n != Dim{};
}

double bytes_of_part(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  double bytes = 0;
  for (const auto* ids : {&op.in, &op.out}) {
    for (TensorId id : *ids) {
      const Tensor& t = tensors[id.index()];
      const std::int64_t elements = std::min(t.elements(binding), binding.value(op.attr.n));
      bytes += static_cast<double>(bytes_of(t.dtype, elements));
    }
  }
  return bytes;
}

// `columns` of every row of the operand.
double bytes_of_columns(const std::vector<Tensor>& tensors, TensorId id, const Binding& binding,
                        std::int64_t columns) {
  const std::int64_t all = std::max<std::int64_t>(1, tensors[id.index()].columns(binding));
  return bytes_of_operand(tensors, id, binding) *
         static_cast<double>(std::min(columns, all)) / static_cast<double>(all);
}

// As many elements as `like` has, in the type of the operand: rows of a table picked by tokens.
double bytes_of_rows(const std::vector<Tensor>& tensors, TensorId id, TensorId like,
                     const Binding& binding) {
  return static_cast<double>(
      bytes_of(tensors[id.index()].dtype, tensors[like.index()].elements(binding)));
}

// What the step does to a bucket passes over memory, not over what a layer has just written.
KernelClass class_of_op(const Op& op) {
  const std::optional<KernelClass> known = memory_bound_kernel(op.kind);
  PLEAT_ASSERT(known.has_value());
  const KernelClass kernel = *known;
  const bool sweep = kernel == KernelClass::memory_bound && op.phase == Phase::step;
  return sweep ? KernelClass::sweep : kernel;
}

}  // namespace

std::optional<KernelClass> memory_bound_kernel(OpKind kind) {
  switch (kind) {
    case OpKind::head_norm:
    case OpKind::head_norm_bwd: return KernelClass::head_norm;
    case OpKind::rope:
    case OpKind::rope_bwd: return KernelClass::rope;
    case OpKind::rms_norm:
    case OpKind::layer_norm:
    case OpKind::rms_norm_quantize:
    case OpKind::rms_norm_bwd:
    case OpKind::layer_norm_bwd:
    case OpKind::slice_norm:
    case OpKind::slice_norm_bwd: return KernelClass::norm;
    case OpKind::router_topk_bwd: return KernelClass::router_bwd;
    case OpKind::embedding:
    case OpKind::embedding_bwd: return KernelClass::embedding;
    case OpKind::swiglu:
    case OpKind::swiglu_bwd:
    case OpKind::gelu:
    case OpKind::gelu_bwd:
    case OpKind::swiglu_prob:
    case OpKind::swiglu_prob_bwd:
    case OpKind::sigmoid_gate:
    case OpKind::sigmoid_gate_bwd: return KernelClass::activation;
    case OpKind::ce_stats:
    case OpKind::ce_loss: return KernelClass::loss;
    case OpKind::router_topk:
    case OpKind::drop_tokens:
    case OpKind::router_stats:
    case OpKind::router_losses:
    case OpKind::router_losses_bwd:
    case OpKind::count_load:
    case OpKind::place_experts:
    case OpKind::expert_counts:
    case OpKind::local_counts: return KernelClass::router;
    case OpKind::permute:
    case OpKind::permute_bwd:
    case OpKind::sort_chunks:
    case OpKind::unsort_chunks:
    case OpKind::unpermute:
    case OpKind::unpermute_bwd: return KernelClass::permute;
    case OpKind::swiglu_quantize:
    case OpKind::quantize:
    case OpKind::quantize_weight:
    case OpKind::quantize_weights:
    case OpKind::transpose_codes: return KernelClass::quantize;
    case OpKind::adamw:
    case OpKind::lamb:
    case OpKind::lamb_norms:
    case OpKind::lamb_step:
    case OpKind::momentum:
    case OpKind::muon_momentum:
    case OpKind::step_matrix: return KernelClass::optimizer;
    case OpKind::load_tokens:
    case OpKind::load_labels:
    case OpKind::split_heads:
    case OpKind::join_heads:
    case OpKind::order_tokens:
    case OpKind::order_ranks:
    case OpKind::pack_keys:
    case OpKind::unpack_keys:
    case OpKind::add:
    case OpKind::pointwise:
    case OpKind::wire_conversion:
    case OpKind::pointwise_bwd:
    case OpKind::concat_columns:
    case OpKind::concat_columns_bwd:
    case OpKind::concat_rows:
    case OpKind::concat_rows_bwd:
    case OpKind::zero:
    case OpKind::update_bias:
    case OpKind::past_amax:
    case OpKind::keep_amax:
    case OpKind::grad_norm:
    case OpKind::clip:
    case OpKind::copy:
    case OpKind::cast_weights: return KernelClass::memory_bound;
    case OpKind::gemm:
    case OpKind::grouped_gemm:
    case OpKind::attention:
    case OpKind::attention_bwd:
    case OpKind::mla_attention:
    case OpKind::mla_attention_bwd:
    case OpKind::newton_schulz:
    case OpKind::token_mixing:
    case OpKind::token_mixing_bwd:
    case OpKind::selected_attention:
    case OpKind::selected_attention_bwd:
    case OpKind::offload:
    case OpKind::offload_state:
    case OpKind::offload_gradients:
    case OpKind::reload:
    case OpKind::reload_state:
    case OpKind::reload_weights:
    case OpKind::release:
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
    case OpKind::all_reduce_amax:
    case OpKind::sum_expert_copies:
    case OpKind::spread_experts:
    case OpKind::all_to_all:
    case OpKind::all_to_all_back:
    case OpKind::exchange_rows:
    case OpKind::exchange_rows_back:
    case OpKind::exchange_sorted:
    case OpKind::exchange_sorted_back:
    case OpKind::exchange_tokens:
    case OpKind::exchange_tokens_back:
    case OpKind::ring_shift:
    case OpKind::send:
    case OpKind::recv: return std::nullopt;
  }
  return std::nullopt;
}

Bytes operand_bytes(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  double bytes = 0;
  for (TensorId id : op.in) {
    const bool few =
        family_of(op.kind) == OpKind::quantize && id != op.in.front();  // rows of each expert
    if (!few) bytes += bytes_of_operand(tensors, id, binding);
  }
  for (TensorId id : op.out) bytes += bytes_of_operand(tensors, id, binding);
  if (op.attr.accumulate && !op.out.empty() && std::ranges::count(op.in, op.out.front()) == 0) {
    bytes += bytes_of_operand(tensors, op.out.front(), binding);
  }
  return Bytes(bytes);
}

Bytes quantize_extra(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                     Precision precision) {
  constexpr double kFourBitPasses = 0.45;  // 30 to 60% more than the operands
  if (family_of(op.kind) != OpKind::quantize) return Bytes(0);
  const DType to = tensors[op.out.front().index()].dtype;
  if (to == DType::nvfp4) return operand_bytes(op, tensors, binding) * kFourBitPasses;
  if (to == DType::fp8 && precision == Precision::fp8) {
    return Bytes(bytes_of_operand(tensors, op.in.front(), binding));
  }
  return Bytes(0);
}

OpWork memory_bound_work(const Op& op, const std::vector<Tensor>& tensors,
                         const Binding& binding) {
  double bytes = on_part(op) ? bytes_of_part(op, tensors, binding)
                             : operand_bytes(op, tensors, binding).base();
  if (op.kind == OpKind::embedding) {  // tokens, W -> x: one row of W per token
    bytes += bytes_of_rows(tensors, op.in[1], op.out[0], binding) -
             bytes_of_operand(tensors, op.in[1], binding);
  } else if (op.kind == OpKind::embedding_bwd) {  // dx, tokens -> dW: rows read and written
    bytes = bytes_of_operand(tensors, op.in[0], binding) +
            bytes_of_operand(tensors, op.in[1], binding) +
            2.0 * bytes_of_rows(tensors, op.out[0], op.in[0], binding);
  } else if (op.kind == OpKind::permute || op.kind == OpKind::unpermute_bwd) {
    // Reads the rows it copies: fewer than there are where all ranks' tokens were gathered.
    const double source = bytes_of_operand(tensors, op.in.front(), binding);
    bytes += std::min(source, bytes_of_operand(tensors, op.out.front(), binding)) - source;
  } else if (op.kind == OpKind::router_topk) {  // one pass over the logits for each of the k picks
    const double passes = static_cast<double>(std::max<std::int64_t>(1, op.attr.top_k));
    bytes += (passes - 1) * bytes_of_operand(tensors, op.in.front(), binding);
  } else if (op.kind == OpKind::ce_stats) {  // one pass for the largest logit, one for the sum
    bytes += bytes_of_operand(tensors, op.in.front(), binding);
  } else if (op.kind == OpKind::slice_norm && op.attr.width > 0) {  // the first r columns of x
    bytes += bytes_of_columns(tensors, op.in[0], binding, op.attr.width) -
             bytes_of_operand(tensors, op.in[0], binding);
  } else if ((op.kind == OpKind::rope || op.kind == OpKind::rope_bwd) && op.attr.rope_dim > 0) {
    // Packed qkv rotates its n q and g k heads; MLA rotates one slice in each of its heads.
    const bool packed_qkv = op.attr.nope_dim == 0;
    const std::int64_t heads = op.attr.heads + (packed_qkv ? op.attr.kv_groups : 0);
    const std::int64_t rotated = std::max<std::int64_t>(1, heads) * op.attr.rope_dim;
    bytes = 2.0 * bytes_of_columns(tensors, op.out[0], binding, rotated);
  }
  return {.kernel = class_of_op(op),
          .flops = Flops(0),
          .bytes = Bytes(bytes * op.attr.passes)};
}

}  // namespace pleat
