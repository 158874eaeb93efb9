// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention over selected keys: the indexer of sparse attention (DeepSeek-V3.2, GLM-5), and
// DeepSeek-V4's compressed attention, in which a query sees a window and, beyond it, keys
// compressed many to one. Heads are split over tp; the single key/value head, compressors and
// indexer are on every rank. Ranks of the context gather each other's keys.
#include <algorithm>

#include "core/program/layer_builder.hpp"
#include "core/spec/mixer_size.hpp"

namespace pleat {
namespace {

TensorId project(LayerBuilder& b, const std::string& name, Module module, TensorId x,
                 std::vector<Dim> weight, bool replicated) {
  const TensorId w = b.weight(name, std::move(weight), Bucket::dense, replicated);
  return b.gemm(name, module, x, w, b.shape().act);
}

// Keys of `columns`, one for every `compression` positions: values and gates, pooled and normed.
TensorId compressor(LayerBuilder& b, const std::string& name, const LayerTraits& t, TensorId all,
                    std::int64_t columns) {
  const LocalShape& s = b.shape();
  const std::int64_t width = (t.own_indexer ? 2 : 1) * columns;
  const TensorId parts = project(b, name, Module::qkv, all, {{2 * width}, {s.model.hidden}}, true);
  const TensorId small =
      b.weight(name + ".pool", {{t.compression * width + columns}}, Bucket::dense, true);
  const std::int64_t keys = std::max<std::int64_t>(1, s.S / t.compression);
  const TensorId own =
      b.pointwise(name + ".pool", Module::qkv, {parts, small}, {{keys}, {columns}});
  return gather_context(b, name + ".cp", Module::core_attn, own);
}

}  // namespace

TensorId build_indexer(LayerBuilder& b, const LayerTraits& t, TensorId query, TensorId all,
                       std::optional<TensorId> keys) {
  const LocalShape& s = b.shape();
  const AttentionSpec& a = s.model.attention;
  const Dim h{s.model.hidden};
  const std::int64_t columns = a.index_heads * a.index_dim;
  const Dim from{a.q_lora_rank > 0 ? a.q_lora_rank : h.n};
  const TensorId q = project(b, "index.q", Module::core_attn, query, {{columns}, from}, true);
  const TensorId weights =
      project(b, "index.w", Module::core_attn, all, {{a.index_heads}, h}, true);
  std::vector<TensorId> in{q, weights};
  if (keys) {
    in.push_back(*keys);
  } else {  // with a LayerNorm of its own
    const TensorId own = project(b, "index.k", Module::core_attn, all, {{a.index_dim}, h}, true);
    in.push_back(gather_context(b, "index.k.cp", Module::core_attn, own));
    in.push_back(b.weight("index.k_norm", {{2 * a.index_dim}}, Bucket::dense, true));
  }
  const double rows = static_cast<double>(s.S);
  const double per_key = static_cast<double>(a.index_heads * (a.index_dim + 1));
  const double scored = static_cast<double>(s.seq) / 2 /
                        static_cast<double>(std::max<std::int64_t>(1, t.compression));
  const double kept = mean_selected_keys(a, t, s.seq);
  const TensorId selected =
      b.activation("index.kept", {{s.S}, {std::min(a.index_top_k, s.seq)}}, DType::i32);
  b.push(OpKind::token_mixing, "index", Module::core_attn, in, {selected}).attr.flops =
      2 * rows * scored * per_key;
  b.on_backward([=, &b] {  // it learns from the attention over the kept keys, not from the loss
    std::vector<TensorId> read = in;
    read.push_back(selected);
    const std::vector<TensorId> written = b.gradients_of(read, in);
    b.push_backward(OpKind::token_mixing_bwd, "index.bwd", Module::core_attn, Phase::backward, read,
                    written)
        .attr.flops = 4 * rows * kept * per_key;
  });
  return selected;
}

TensorId build_compressed_attention(LayerBuilder& b, TensorId x, const LayerTraits& t) {
  const LocalShape& s = b.shape();
  const AttentionSpec& a = s.model.attention;
  const Dim h{s.model.hidden};
  const std::int64_t heads = a.heads / s.tp, d = a.head_dim;
  const std::int64_t groups = std::max<std::int64_t>(1, a.out_groups / s.tp);

  const Half half = open_half(b, "attn", x);
  const TensorId normed = b.rms_norm("attn_norm", half.in, h.n);
  const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
  const TensorId latent = b.rms_norm(
      "q_a_norm", project(b, "q_a", Module::qkv, all, {{a.q_lora_rank}, h}, true), a.q_lora_rank);
  const TensorId q =
      project(b, "q_b", Module::mla_up_proj, latent, {{heads * d}, {a.q_lora_rank}}, false);
  const TensorId kv = b.rms_norm("kv_norm", project(b, "kv", Module::qkv, all, {{d}, h}, true), d);
  std::vector<TensorId> in{q, gather_context(b, "kv.cp", Module::core_attn, kv)};
  if (t.compression > 0) in.push_back(compressor(b, "compressor", t, all, d));
  if (t.own_indexer) {
    const TensorId keys = compressor(b, "index.compressor", t, all, a.index_dim);
    in.push_back(build_indexer(b, t, latent, all, keys));
  }
  if (a.sinks) in.push_back(b.weight("sinks", {{heads}}, Bucket::dense));
  const double keys = mean_keys(t, s.seq) + mean_selected_keys(a, t, s.seq);
  const double work =
      2.0 * static_cast<double>(s.S) * keys * static_cast<double>(heads) * static_cast<double>(d);
  // Rows by group, ready for the grouped output projection.
  const TensorId o = b.token_mixing("attn", Module::core_attn, in,
                                    {{s.S * groups}, {heads * d / groups}}, 2 * work, 5 * work);

  const TensorId w_group =
      b.weight("attn_proj_a", {{a.out_lora_rank}, {groups}, {heads * d / groups}}, Bucket::dense);
  const TensorId low = b.gemm("attn_proj_a", Module::attn_proj, o, w_group, s.act);
  const TensorId w_out = b.weight("attn_proj", {h, {groups * a.out_lora_rank}}, Bucket::dense);
  const TensorId out =
      b.gemm("attn_proj", Module::attn_proj, low, w_out, s.act, {.bias = {}, .rows = Dim{s.S}});
  return close_half(b, "attn", half, {b.reduce_tokens("attn_proj.rs", Module::attn_proj, out)});
}

}  // namespace pleat
