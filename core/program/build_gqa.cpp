// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention (multi-head and multi-query included): packed qkv projection, optional
// q/k norm, rotary embedding, causal attention, output projection.
// Per rank: n/tp heads, g/tp kv groups (at least one: with tp > g each rank keeps its own copy).
#include <algorithm>
#include <cmath>

#include "core/program/layer_builder.hpp"
#include "core/spec/mixer_size.hpp"

namespace pleat {
namespace {

// Passes over the stored scores in bf16: the product writes them, softmax with scale and mask reads
// and writes, dropout reads and writes (and its mask, half as wide), the second product reads.
constexpr double kScorePassesForward = 6.5;
// The gradient is written, dropout reads and writes (and its mask), softmax reads two and writes
// one, three products read.
constexpr double kScorePassesBackward = 9.5;

// Sizes on this rank.
struct GqaSizes {
  std::int64_t heads, groups, d, dv;
  [[nodiscard]] std::int64_t kv_columns(const AttentionSpec& a) const {
    return groups * (a.keys_are_values ? d : d + dv);
  }
};

void set_heads(Op& op, const LocalShape& s, const AttentionSpec& a, const GqaSizes& z) {
  op.attr.batch = s.batch;
  op.attr.seq = s.seq;
  op.attr.packed = s.packed;
  op.attr.slowest = s.slowest;
  op.attr.heads = z.heads;
  op.attr.kv_groups = z.groups;
  op.attr.head_dim = z.d;
  op.attr.v_dim = z.dv;
  op.attr.rope_dim = s.model.learned_positions > 0 ? 0 : a.rotary_dim > 0 ? a.rotary_dim : z.d;
  op.attr.eps = s.model.norm_eps;
}

// The packed projection's rows: queries, keys, values (none where keys are values too).
std::vector<Band> packed_bands(const AttentionSpec& a, const GqaSizes& z, int tp) {
  const int parts = static_cast<int>(std::min<std::int64_t>(tp, a.kv_groups));
  std::vector<Band> bands{{a.heads * z.d}, {a.kv_groups * z.d, parts}};
  if (!a.keys_are_values) bands.push_back({a.kv_groups * z.dv, parts});
  return bands;
}

double softmax_scale(const AttentionSpec& a) {
  return a.rope_scaling.scores / std::sqrt(static_cast<double>(a.head_dim));
}

TensorId head_norm(LayerBuilder& b, TensorId x, const AttentionSpec& a, const GqaSizes& z,
                   std::int64_t columns) {
  const LocalShape& s = b.shape();
  const std::vector<Band> bands = packed_bands(a, z, s.tp);  // of queries, of keys
  const auto norm_weight = [&](const char* name, std::int64_t heads, const Band& band) {
    const std::int64_t width = a.wide_qk_norm ? heads * z.d : z.d;
    const TensorId w = b.weight(name, norm_dims(s.model, width), Bucket::dense, !a.wide_qk_norm);
    if (a.wide_qk_norm) {
      b.cut_rows(w, {band});
    } else {
      b.sum_over_tp(w);
    }
    return w;
  };
  const TensorId wq = norm_weight("q_norm", z.heads, bands[0]);
  const TensorId wk = norm_weight("k_norm", z.groups, bands[1]);
  const TensorId y = b.activation("qk_norm", {{s.S}, {columns}}, s.act);
  const TensorId rstd = b.activation("qk_norm.rstd", {{s.S}, {z.heads + z.groups}}, DType::fp32);
  set_heads(b.push(OpKind::head_norm, "qk_norm", Module::qkv, {x, wq, wk}, {y, rstd}), s, a, z);
  b.on_backward([=, &b, &a] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.new_gradient(x);
    set_heads(
        b.push_backward(OpKind::head_norm_bwd, "qk_norm.bwd", Module::qkv, Phase::backward,
                        {dy, x, wq, wk, rstd}, {dx, b.weight_gradient(wq), b.weight_gradient(wk)}),
        b.shape(), a, z);
  });
  return y;
}

// The causal core over all keys, or those in the window. Heads may be shared by several ranks, with
// fewer key/value groups than ranks each group by some of them.
TensorId dense_core(LayerBuilder& b, TensorId packed, const AttentionSpec& a, const GqaSizes& all,
                    const LayerTraits& t) {
  const LocalShape& s = b.shape();
  const ContextShares shares(s.plan);
  GqaSizes z = all;
  z.heads /= shares.heads;
  z.groups = std::max<std::int64_t>(1, z.groups / shares.heads);
  const std::int64_t rows = s.S * shares.heads;
  const int ring = shares.ring;
  const Group ring_group = shares.ring_group;
  TensorId qkv = packed;
  if (shares.heads > 1) {
    qkv = exchange_heads(
        b, "qkv.heads", packed, {{rows}, {z.heads * z.d + z.kv_columns(a)}}, true,
        {.heads = all.heads, .kv_groups = all.groups, .key = z.d, .value = z.dv});
  }
  const std::int64_t kv_columns = z.kv_columns(a);
  // An aligned chunk is a shorter sequence.
  const bool chunked = t.chunked && t.window < s.seq;
  auto shape = [=, &a](Op& op, const LocalShape& sh) {
    set_heads(op, sh, a, z);
    op.attr.scale = softmax_scale(a);
    if (chunked) {
      op.attr.batch = sh.batch * sh.seq / t.window;
      op.attr.seq = t.window;
    } else {
      op.attr.window = t.window;
    }
  };
  // Every rank gathers the other shards' keys and values.
  TensorId kv_all = qkv;
  if (ring > 1) {
    kv_all = b.activation("kv.ag", {{rows * ring}, {kv_columns}}, s.act);
    Op& gather = b.push(OpKind::gather_keys, "kv.ag", Module::core_attn, {qkv}, {kv_all});
    gather.group = ring_group;
    gather.stream = Stream::comm;
  }
  const TensorId o = b.activation("attn", {{rows}, {z.heads * z.dv}}, s.act);
  const TensorId lse = b.activation("attn.lse", {{rows}, {z.heads}}, DType::fp32);
  std::vector<TensorId> in{qkv};
  if (ring > 1) in.push_back(kv_all);
  std::optional<TensorId> sinks;
  if (a.sinks) {
    sinks = b.weight("sinks", {{all.heads}}, Bucket::dense);
    b.cut_rows(*sinks, {{a.heads}});
    in.push_back(*sinks);
  }
  // Without FlashAttention the probabilities, the dropout mask and what it leaves stay for the
  // backward pass: 5 a s^2 bytes (arXiv:2205.05198).
  std::vector<TensorId> scores;
  if (!s.plan.flash_attention) {
    const std::vector<Dim> square{{rows}, {z.heads * s.seq}};
    scores = {b.activation("attn.probs", square, s.act),
              b.activation("attn.dropped", square, s.act),
              b.activation("attn.mask", square, DType::u8)};
  }
  std::vector<TensorId> out{o, lse};
  out.insert(out.end(), scores.begin(), scores.end());
  Op& core = b.push(OpKind::attention, "attn", Module::core_attn, in, out);
  shape(core, s);
  if (!scores.empty()) core.attr.score_passes = kScorePassesForward;
  b.on_backward([=, &b] {
    const LocalShape& sh = b.shape();
    const TensorId d_o = b.gradient(o);
    const TensorId dqkv = b.new_gradient(qkv);
    std::vector<TensorId> reads{d_o, qkv, o, lse};
    std::vector<TensorId> writes{dqkv};
    if (ring > 1) {
      const TensorId again = b.activation("kv.ag.again", {{rows * ring}, {kv_columns}}, sh.act);
      b.push_backward(OpKind::gather_keys, "kv.ag.again", Module::core_attn, Phase::backward, {qkv},
                      {again})
          .group = ring_group;
      reads.push_back(again);
      writes.push_back(b.activation("d.kv", {{rows * ring}, {kv_columns}}, sh.act));
    }
    if (sinks) {
      reads.push_back(*sinks);
      writes.push_back(b.weight_gradient(*sinks));
    }
    reads.insert(reads.end(), scores.begin(), scores.end());
    Op& back = b.push_backward(OpKind::attention_bwd, "attn.bwd", Module::core_attn,
                               Phase::backward, reads, writes);
    shape(back, sh);
    if (!scores.empty()) back.attr.score_passes = kScorePassesBackward;
    if (ring > 1) {  // sums every shard's contribution into the key and value columns of dqkv
      b.push_backward(OpKind::reduce_key_gradients, "kv.rs", Module::core_attn, Phase::backward,
                      {writes[1]}, {dqkv})
          .group = ring_group;
    }
  });
  if (shares.heads > 1) {
    return exchange_heads(b, "attn.tokens", o, {{s.S}, {all.heads * z.dv}}, false,
                          {.heads = all.heads, .value = z.dv});
  }
  return o;
}

// Keys and values of all ranks of the context, by all-gather.
TensorId gather_keys_of_context(LayerBuilder& b, TensorId qkv, std::int64_t kv_columns) {
  const LocalShape& s = b.shape();
  const TensorId all = b.activation("kv.ag", {{s.S * s.cp}, {kv_columns}}, s.act);
  b.push(OpKind::gather_keys, "kv.ag", Module::core_attn, {qkv}, {all}).group = Group::cp;
  b.on_backward([=, &b] {
    b.push_backward(OpKind::reduce_key_gradients, "kv.rs", Module::core_attn, Phase::backward,
                    {b.gradient(all)}, {b.gradient(qkv)})
        .group = Group::cp;
  });
  return all;
}

// The core over the keys that an indexer picks.
TensorId sparse_core(LayerBuilder& b, TensorId qkv, TensorId all, const AttentionSpec& a,
                     const GqaSizes& z, const LayerTraits& t) {
  const LocalShape& s = b.shape();
  std::vector<TensorId> in{qkv};
  if (s.cp > 1) in.push_back(gather_keys_of_context(b, qkv, z.kv_columns(a)));
  if (t.own_indexer) in.push_back(build_indexer(b, t, all, all, {}));
  const double scores =
      static_cast<double>(s.S) * mean_selected_keys(a, t, s.seq) * static_cast<double>(z.heads);
  const double qk = static_cast<double>(z.d), v = static_cast<double>(z.dv);
  return b.selected_attention("attn", Module::core_attn, in, {{s.S}, {z.heads * z.dv}},
                              2 * scores * (qk + v), 2 * scores * (3 * qk + 2 * v));
}

}  // namespace

TensorId build_gqa(LayerBuilder& b, TensorId x, const LayerTraits& t) {
  const LocalShape& s = b.shape();
  const ModelSpec& m = s.model;
  const AttentionSpec& a = m.attention_of(t);
  const GqaSizes z{a.heads / s.tp, std::max<std::int64_t>(1, a.kv_groups / s.tp), a.head_dim,
                   a.v_dim()};
  const std::int64_t columns = z.heads * z.d + z.kv_columns(a);
  const std::int64_t head_columns = a.heads * z.dv;  // of all ranks
  const std::vector<Band> qkv_bands = packed_bands(a, z, s.tp);

  const Half half = open_half(b, "attn", x);
  const TensorId normed = b.rms_norm("attn_norm", half.in, m.hidden);
  const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
  const TensorId w_qkv = b.weight("qkv", {{columns}, {m.hidden}}, Bucket::dense);
  b.cut_rows(w_qkv, qkv_bands);
  LayerBuilder::GemmOptions qkv_options;
  if (a.qkv_bias) {
    qkv_options.bias = b.weight("qkv.bias", {{columns}}, Bucket::dense);
    b.cut_rows(*qkv_options.bias, qkv_bands);
  }
  TensorId qkv = b.gemm("qkv", Module::qkv, all, w_qkv, s.act, qkv_options);
  std::optional<TensorId> gate;
  if (a.output_gate) {
    const TensorId w = b.weight("attn_gate", {{z.heads * z.dv}, {m.hidden}}, Bucket::dense);
    b.cut_rows(w, {{head_columns}});
    gate = b.gemm("attn_gate", Module::qkv, all, w, s.act);
  }
  if (a.qk_norm) qkv = head_norm(b, qkv, a, z, columns);
  if (m.learned_positions == 0) {
    set_heads(b.push(OpKind::rope, "rope", Module::qkv, {qkv}, {qkv}), s, a, z);
    b.on_backward([=, &b, &a] {
      const TensorId d = b.gradient(qkv);
      set_heads(
          b.push_backward(OpKind::rope_bwd, "rope.bwd", Module::qkv, Phase::backward, {d}, {d}),
          b.shape(), a, z);
    });
  }
  TensorId o = t.sparse ? sparse_core(b, qkv, all, a, z, t) : dense_core(b, qkv, a, z, t);
  if (gate) {
    o = b.pointwise("attn_gated", Module::core_attn, {o, *gate}, {{s.S}, {z.heads * z.dv}}, {},
                    Elementwise::sigmoid_gate);
  }

  const TensorId w_out = b.weight("attn_proj", {{m.hidden}, {z.heads * z.dv}}, Bucket::dense);
  b.cut_columns(w_out, head_columns);
  LayerBuilder::GemmOptions out_options;
  if (a.out_bias) {
    out_options.bias = b.weight("attn_proj.bias", {{m.hidden}}, Bucket::dense, true);
    out_options.bias_scale = 1.0 / s.tp;
    b.sum_over_tp(*out_options.bias);
  }
  const TensorId projected = b.gemm("attn_proj", Module::attn_proj, o, w_out, s.act, out_options);
  const TensorId reduced = b.reduce_tokens("attn_proj.rs", Module::attn_proj, projected);
  return close_half(b, "attn", half, {reduced});
}

}  // namespace pleat
