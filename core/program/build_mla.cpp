// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention (DeepSeek-V2/V3): q and kv through low-rank latents, rotary part of k
// shared by all heads. The down-projections and latent norms are replicated over tp.
#include <cmath>

#include "core/program/layer_builder.hpp"
#include "core/spec/mixer_size.hpp"

namespace pleat {
namespace {

struct MlaSizes {
  std::int64_t heads, rq, rkv, dn, dr, dv;
};

void set_mla(Op& op, const LocalShape& s, const MlaSizes& z) {
  op.attr.batch = s.batch;
  op.attr.seq = s.seq;
  op.attr.packed = s.packed;
  op.attr.slowest = s.slowest;
  op.attr.heads = z.heads;
  op.attr.kv_groups = z.heads;
  op.attr.head_dim = z.dn + z.dr;
  op.attr.nope_dim = z.dn;
  op.attr.rope_dim = z.dr;
  op.attr.v_dim = z.dv;
  op.attr.width = z.rkv;
  op.attr.scale =
      s.model.attention.rope_scaling.scores / std::sqrt(static_cast<double>(z.dn + z.dr));
  op.attr.eps = s.model.norm_eps;
}

// rope on `heads` blocks of `stride` columns from column `first`; its last rope_dim columns rotate.
void rope(LayerBuilder& b, const std::string& name, Module module, TensorId x, const MlaSizes& z,
          std::int64_t heads, std::int64_t stride, std::int64_t offset) {
  auto shape = [=](Op& op, const LocalShape& s) {
    set_mla(op, s, z);
    op.attr.heads = heads;
    op.attr.head_dim = stride;
    op.attr.rope_offset = offset;
  };
  shape(b.push(OpKind::rope, name, module, {x}, {x}), b.shape());
  b.on_backward([=, &b] {
    const TensorId d = b.gradient(x);
    shape(b.push_backward(OpKind::rope_bwd, name + ".bwd", module, Phase::backward, {d}, {d}),
          b.shape());
  });
}

// The projected queries, and what they are projected from: the latent, or the normed input.
struct Query {
  TensorId q, from;
};

Query latent_query(LayerBuilder& b, TensorId normed, const MlaSizes& z) {
  const LocalShape& s = b.shape();
  const std::int64_t columns = z.heads * (z.dn + z.dr);
  if (z.rq == 0) {
    const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
    const TensorId w = b.weight("q", {{columns}, {s.model.hidden}}, Bucket::dense);
    b.cut_rows(w, {{columns * s.tp}});
    return {b.gemm("q", Module::mla_up_proj, all, w, s.act), all};
  }
  const TensorId wa = b.weight("q_a", {{z.rq}, {s.model.hidden}}, Bucket::dense, true);
  const TensorId latent = b.gemm("q_a", Module::qkv, normed, wa, s.act);
  const TensorId all = b.gather_tokens("q_a.ag", Module::qkv, latent);
  const TensorId q_latent = b.rms_norm("q_a_norm", all, z.rq, true);
  const TensorId wb = b.weight("q_b", {{columns}, {z.rq}}, Bucket::dense);
  b.cut_rows(wb, {{columns * s.tp}});
  return {b.gemm("q_b", Module::mla_up_proj, q_latent, wb, s.act), q_latent};
}

TensorId slice_norm(LayerBuilder& b, TensorId x, const MlaSizes& z) {
  const LocalShape& s = b.shape();
  const TensorId w = b.weight("kv_a_norm", norm_dims(s.model, z.rkv), Bucket::dense, true);
  b.sum_over_tp(w);
  const TensorId y = b.activation("kv_a_norm", {{s.S}, {z.rkv}}, s.act);
  const TensorId rstd = b.activation("kv_a_norm.rstd", {{s.S}}, DType::fp32);
  set_mla(b.push(OpKind::slice_norm, "kv_a_norm", Module::layernorm, {x, w}, {y, rstd}), s, z);
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.gradient(x);  // the attention wrote its rotary columns
    set_mla(b.push_backward(OpKind::slice_norm_bwd, "kv_a_norm.bwd", Module::layernorm,
                            Phase::backward, {dy, x, w, rstd}, {dx, b.weight_gradient(w)}),
            b.shape(), z);
  });
  return y;
}

// An exchange of keys and values of every head, the rotary part repeated.
void set_keys(Op& op, const MlaSizes& z, Group group) {
  op.group = group;
  op.attr.heads = z.heads;
  op.attr.head_dim = z.dn;
  op.attr.rope_dim = z.dr;
  op.attr.v_dim = z.dv;
}

TensorId dense_core(LayerBuilder& b, TensorId q_local, TensorId kv_local, TensorId kpe,
                    const MlaSizes& all) {
  const LocalShape& s = b.shape();
  const ContextShares shares(s.plan);
  MlaSizes z = all;
  z.heads /= shares.heads;
  const std::int64_t rows = s.S * shares.heads;
  const int ring = shares.ring;
  const bool by_heads = shares.heads > 1;
  const Group ring_group = shares.ring_group;
  TensorId q = q_local, kv = kv_local;
  if (by_heads) {  // keys travel with the rotary part repeated for every head
    q = exchange_heads(b, "q.heads", q_local, {{rows}, {z.heads * (z.dn + z.dr)}}, true,
                       {.heads = all.heads, .key = z.dn + z.dr});
    kv = exchange_heads(b, "kv.heads", kv_local, {{rows}, {z.heads * (z.dn + z.dr + z.dv)}}, true,
                        {.heads = all.heads, .key = z.dn, .rope = z.dr, .value = z.dv}, kpe);
  }
  const TensorId o = b.activation("attn", {{rows}, {z.heads * z.dv}}, s.act);
  const TensorId lse = b.activation("attn.lse", {{rows}, {z.heads}}, DType::fp32);
  // Context parallelism moves keys and values of every head, the rotary part repeated.
  const std::vector<Dim> all_kv{{rows * ring}, {z.heads * (z.dn + z.dr + z.dv)}};
  std::vector<TensorId> in{q, kv}, local{kv};
  if (!by_heads) {
    in.push_back(kpe);
    local.push_back(kpe);
  }
  if (ring > 1) {
    in.push_back(b.activation("kv.ag", all_kv, s.act));
    set_keys(b.push(OpKind::gather_keys, "kv.ag", Module::core_attn, local, {in.back()}), z,
             ring_group);
  }
  set_mla(b.push(OpKind::mla_attention, "attn", Module::core_attn, in, {o, lse}), s, z);
  b.on_backward([=, &b] {
    const TensorId d_o = b.gradient(o);
    const TensorId dq = b.new_gradient(q);
    const TensorId dkv = b.new_gradient(kv);
    std::vector<TensorId> reads{d_o, q, kv}, writes{dq, dkv};
    if (!by_heads) {
      reads.push_back(kpe);
      writes.push_back(b.new_gradient(kpe));
    }
    reads.insert(reads.end(), {o, lse});
    if (ring > 1) {
      reads.push_back(b.activation("kv.ag.again", all_kv, b.shape().act));
      set_keys(b.push_backward(OpKind::gather_keys, "kv.ag.again", Module::core_attn,
                               Phase::backward, local, {reads.back()}),
               z, ring_group);
      writes.push_back(b.activation("d.kv", all_kv, b.shape().act));
    }
    set_mla(b.push_backward(OpKind::mla_attention_bwd, "attn.bwd", Module::core_attn,
                            Phase::backward, reads, writes),
            b.shape(), z);
    if (ring > 1) {
      std::vector<TensorId> out{dkv};
      if (!by_heads) out.push_back(b.gradient(kpe));
      set_keys(b.push_backward(OpKind::reduce_key_gradients, "kv.rs", Module::core_attn,
                               Phase::backward, {writes.back()}, out),
               z, ring_group);
    }
  });
  if (by_heads) {
    return exchange_heads(b, "attn.tokens", o, {{s.S}, {all.heads * z.dv}}, false,
                          {.heads = all.heads, .value = z.dv});
  }
  return o;
}

// The core in its absorbed form, on the latents of the keys that an indexer picks: kv_b's product
// is as much work before the core as split around it.
TensorId sparse_core(LayerBuilder& b, const LayerTraits& t, const Query& query, TensorId normed,
                     TensorId kv, TensorId kpe, const MlaSizes& z) {
  const LocalShape& s = b.shape();
  std::vector<TensorId> in{query.q, kv, gather_context(b, "kv.cp", Module::core_attn, kpe)};
  if (t.own_indexer) {
    const TensorId all = b.gather_tokens("index.ag", Module::core_attn, normed);
    in.push_back(build_indexer(b, t, query.from, all, {}));
  }
  const double scores = static_cast<double>(s.S) * mean_selected_keys(s.model.attention, t, s.seq) *
                        static_cast<double>(z.heads);
  const double qk = static_cast<double>(z.rkv + z.dr), v = static_cast<double>(z.rkv);
  return b.selected_attention("attn", Module::core_attn, in, {{s.S}, {z.heads * z.dv}},
                              2 * scores * (qk + v), 2 * scores * (3 * qk + 2 * v));
}

}  // namespace

TensorId build_mla(LayerBuilder& b, TensorId x, const LayerTraits& t) {
  const LocalShape& s = b.shape();
  const ModelSpec& m = s.model;
  const AttentionSpec& a = m.attention;
  const MlaSizes z{a.heads / s.tp,     a.q_lora_rank,      a.kv_lora_rank,
                   a.qk_nope_head_dim, a.qk_rope_head_dim, a.v_head_dim};

  const Half half = open_half(b, "attn", x);
  const TensorId normed = b.rms_norm("attn_norm", half.in, m.hidden);
  const Query query = latent_query(b, normed, z);
  rope(b, "q_rope", Module::mla_up_proj, query.q, z, z.heads, z.dn + z.dr, z.dn);

  const TensorId w_kva = b.weight("kv_a", {{z.rkv + z.dr}, {m.hidden}}, Bucket::dense, true);
  const TensorId kv_local = b.gemm("kv_a", Module::qkv, normed, w_kva, s.act);
  const TensorId kpe = b.gather_tokens("kv_a.ag", Module::qkv, kv_local);
  rope(b, "k_rope", Module::qkv, kpe, z, 1, z.rkv + z.dr, z.rkv);
  const TensorId latent = slice_norm(b, kpe, z);
  const TensorId w_kvb = b.weight("kv_b", {{z.heads * (z.dn + z.dv)}, {z.rkv}}, Bucket::dense);
  b.cut_rows(w_kvb, {{a.heads * (z.dn + z.dv)}});
  const TensorId kv = b.gemm("kv_b", Module::mla_up_proj, latent, w_kvb, s.act);

  TensorId o =
      t.sparse ? sparse_core(b, t, query, normed, kv, kpe, z) : dense_core(b, query.q, kv, kpe, z);
  if (a.output_gate) {
    const TensorId all = b.gather_tokens("attn_gate.ag", Module::qkv, normed);
    const TensorId w = b.weight("attn_gate", {{z.heads * z.dv}, {m.hidden}}, Bucket::dense);
    b.cut_rows(w, {{a.heads * z.dv}});
    const TensorId gate = b.gemm("attn_gate", Module::qkv, all, w, s.act);
    o = b.pointwise("attn_gated", Module::core_attn, {o, gate}, {{s.S}, {z.heads * z.dv}}, {},
                    Elementwise::sigmoid_gate);
  }

  const TensorId w_out = b.weight("attn_proj", {{m.hidden}, {z.heads * z.dv}}, Bucket::dense);
  b.cut_columns(w_out, a.heads * z.dv);
  const TensorId projected = b.gemm("attn_proj", Module::attn_proj, o, w_out, s.act);
  const TensorId reduced = b.reduce_tokens("attn_proj.rs", Module::attn_proj, projected);
  return close_half(b, "attn", half, {reduced});
}

}  // namespace pleat
