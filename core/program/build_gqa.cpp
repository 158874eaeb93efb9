// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention (multi-head and multi-query included): packed qkv projection, optional
// q/k norm, rotary embedding, causal attention, output projection.
// Per rank: n/tp heads, g/tp kv groups (at least one: with tp > g each rank keeps its own copy).
#include <algorithm>
#include <cmath>

#include "core/program/layer_builder.hpp"

namespace pleat {
namespace {

void set_heads(Op& op, const LocalShape& s, std::int64_t heads, std::int64_t groups) {
  const AttentionSpec& a = s.model.attention;
  op.attr.batch = s.batch;
  op.attr.seq = s.seq;
  op.attr.heads = heads;
  op.attr.kv_groups = groups;
  op.attr.head_dim = a.head_dim;
  op.attr.v_dim = a.head_dim;
  op.attr.rope_dim = s.model.learned_positions > 0 ? 0 : a.head_dim;
  op.attr.eps = s.model.norm_eps;
}

double softmax_scale(std::int64_t d) { return 1.0 / std::sqrt(static_cast<double>(d)); }

TensorId head_norm(LayerBuilder& b, TensorId x, std::int64_t heads, std::int64_t groups,
                   std::int64_t columns) {
  const LocalShape& s = b.shape();
  const std::int64_t d = s.model.attention.head_dim;
  const TensorId wq = b.weight("q_norm", {{d}}, Bucket::dense, true);
  const TensorId wk = b.weight("k_norm", {{d}}, Bucket::dense, true);
  const TensorId y = b.activation("qk_norm", {{s.S}, {columns}}, s.act);
  const TensorId rstd = b.activation("qk_norm.rstd", {{s.S}, {heads + groups}}, DType::fp32);
  set_heads(b.push(OpKind::head_norm, "qk_norm", Module::qkv, {x, wq, wk}, {y, rstd}), s, heads,
            groups);
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.new_gradient(x);
    set_heads(b.push_backward(OpKind::head_norm_bwd, "qk_norm.bwd", Module::qkv, Phase::backward,
                              {dy, x, wq, wk, rstd},
                              {dx, b.weight_gradient(wq), b.weight_gradient(wk)}),
              b.shape(), heads, groups);
  });
  return y;
}

}  // namespace

TensorId build_gqa(LayerBuilder& b, TensorId x) {
  const LocalShape& s = b.shape();
  const ModelSpec& m = s.model;
  const AttentionSpec& a = m.attention;
  const std::int64_t heads = a.heads / s.tp;
  const std::int64_t groups = std::max<std::int64_t>(1, a.kv_groups / s.tp);
  const std::int64_t columns = (heads + 2 * groups) * a.head_dim;
  const std::int64_t kv_columns = 2 * groups * a.head_dim;

  const TensorId normed = b.rms_norm("attn_norm", x, m.hidden);
  const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
  const TensorId w_qkv = b.weight("qkv", {{columns}, {m.hidden}}, Bucket::dense);
  TensorId qkv = b.gemm("qkv", Module::qkv, all, w_qkv, s.act);
  if (a.qk_norm) qkv = head_norm(b, qkv, heads, groups, columns);
  if (m.learned_positions == 0) {
    set_heads(b.push(OpKind::rope, "rope", Module::qkv, {qkv}, {qkv}), s, heads, groups);
    b.on_backward([=, &b] {
      const TensorId d = b.gradient(qkv);
      set_heads(b.push_backward(OpKind::rope_bwd, "rope.bwd", Module::qkv, Phase::backward, {d}, {d}),
                b.shape(), heads, groups);
    });
  }

  // Context parallelism: every rank gathers the other shards' keys and values.
  TensorId kv_all = qkv;
  if (s.cp > 1) {
    kv_all = b.activation("kv.ag", {{s.S * s.cp}, {kv_columns}}, s.act);
    Op& gather = b.push(OpKind::all_gather, "kv.ag", Module::core_attn, {qkv}, {kv_all});
    gather.group = Group::cp;
    gather.stream = Stream::comm;
  }
  const TensorId o = b.activation("attn", {{s.S}, {heads * a.head_dim}}, s.act);
  const TensorId lse = b.activation("attn.lse", {{s.S}, {heads}}, DType::fp32);
  std::vector<TensorId> in{qkv};
  if (s.cp > 1) in.push_back(kv_all);
  Op& attention = b.push(OpKind::attention, "attn", Module::core_attn, in, {o, lse});
  set_heads(attention, s, heads, groups);
  attention.attr.scale = softmax_scale(a.head_dim);
  b.on_backward([=, &b] {
    const LocalShape& sh = b.shape();
    const TensorId d_o = b.gradient(o);
    const TensorId dqkv = b.new_gradient(qkv);
    std::vector<TensorId> reads{d_o, qkv, o, lse};
    std::vector<TensorId> writes{dqkv};
    if (sh.cp > 1) {
      const TensorId again = b.activation("kv.ag.again", {{sh.S * sh.cp}, {kv_columns}}, sh.act);
      b.push_backward(OpKind::all_gather, "kv.ag.again", Module::core_attn, Phase::backward, {qkv},
                      {again}).group = Group::cp;
      reads.push_back(again);
      writes.push_back(b.activation("d.kv", {{sh.S * sh.cp}, {kv_columns}}, sh.act));
    }
    Op& op = b.push_backward(OpKind::attention_bwd, "attn.bwd", Module::core_attn, Phase::backward,
                             reads, writes);
    set_heads(op, sh, heads, groups);
    op.attr.scale = softmax_scale(a.head_dim);
    if (sh.cp > 1) {  // sums every shard's contribution into the key and value columns of dqkv
      b.push_backward(OpKind::reduce_scatter, "kv.rs", Module::core_attn, Phase::backward,
                      {writes[1]}, {dqkv}).group = Group::cp;
    }
  });

  const TensorId w_out = b.weight("attn_proj", {{m.hidden}, {heads * a.head_dim}}, Bucket::dense);
  const TensorId projected = b.gemm("attn_proj", Module::attn_proj, o, w_out, s.act);
  const TensorId reduced = b.reduce_tokens("attn_proj.rs", Module::attn_proj, projected);
  return b.add("attn_residual", {x, reduced});
}

}  // namespace pleat
