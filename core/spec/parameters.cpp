// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parameters and model FLOPs of a transformer, term by term as in docs/MODEL.md sections 1 and 2.
// L layers, h hidden, V vocabulary, n heads, g kv groups, d head size, f FFN, E experts, k top-k.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/spec/model.hpp"

namespace pleat {
namespace {

using Count = std::int64_t;

// Parameters of one norm over h: a scale, and for LayerNorm a shift.
Count norm_width(const ModelSpec& m) { return m.norm == NormKind::layer_norm ? 2 : 1; }

Count gqa_parameters(const ModelSpec& m) {
  const AttentionSpec& a = m.attention;
  const Count h = m.hidden, n = a.heads, g = a.kv_groups, d = a.head_dim;
  Count count = h * d * (n + 2 * g) + n * d * h;
  if (a.qkv_bias) count += d * (n + 2 * g);
  if (a.out_bias) count += h;
  if (a.qk_norm) count += 2 * d * norm_width(m);
  return count;
}

Count mla_parameters(const ModelSpec& m) {
  const AttentionSpec& a = m.attention;
  const Count h = m.hidden, n = a.heads, nb = norm_width(m);
  const Count q = a.q_lora_rank == 0
                      ? h * n * a.qk_dim()
                      : h * a.q_lora_rank + nb * a.q_lora_rank + a.q_lora_rank * n * a.qk_dim();
  const Count kv = h * (a.kv_lora_rank + a.qk_rope_head_dim) + nb * a.kv_lora_rank +
                   a.kv_lora_rank * n * (a.qk_nope_head_dim + a.v_head_dim);
  return q + kv + n * a.v_head_dim * h;
}

Count attention_parameters(const ModelSpec& m) {
  switch (m.attention.kind) {
    case AttentionKind::gqa:
      return gqa_parameters(m);
    case AttentionKind::mla:
      return mla_parameters(m);
  }
  return 0;
}

Count matrices_of_mlp(const ModelSpec& m) { return m.gated_mlp ? 3 : 2; }

Count dense_mlp_parameters(const ModelSpec& m) {
  const Count weights = matrices_of_mlp(m) * m.hidden * m.ffn;
  return weights + (m.mlp_bias ? (matrices_of_mlp(m) - 1) * m.ffn + m.hidden : 0);
}

// Router, `experts` of the experts, shared expert.
Count moe_parameters(const ModelSpec& m, Count experts) {
  const MoeSpec& moe = *m.moe;
  const Count shared = matrices_of_mlp(m) * m.hidden * moe.shared_ffn;
  return m.hidden * moe.experts + experts * matrices_of_mlp(m) * m.hidden * moe.ffn + shared +
         (moe.shared_gate ? m.hidden : 0);
}

// Multiply-adds per token of the attention's matrices (docs/MODEL.md section 2, A_lin).
Count attention_linear(const ModelSpec& m) {
  const AttentionSpec& a = m.attention;
  const Count h = m.hidden, n = a.heads;
  switch (a.kind) {
    case AttentionKind::gqa:
      return h * a.head_dim * (n + 2 * a.kv_groups) + n * a.head_dim * h;
    case AttentionKind::mla: {
      const Count q =
          a.q_lora_rank == 0 ? h * n * a.qk_dim() : a.q_lora_rank * (h + n * a.qk_dim() + 1);
      return q + a.kv_lora_rank * (h + n * (a.qk_nope_head_dim + a.v_head_dim) + 1) +
             h * a.qk_rope_head_dim + n * a.v_head_dim * h;
    }
  }
  return 0;
}

// Multiply-adds per token and position of the causal attention core: half of QK^T and PV (A_core).
double attention_core(const ModelSpec& m) {
  const AttentionSpec& a = m.attention;
  return static_cast<double>(a.heads * (a.qk_dim() + a.v_dim())) / 2;
}

}  // namespace

Count ModelSpec::moe_layers() const {
  return moe ? std::count(moe_layer.begin(), moe_layer.end(), true) : 0;
}

ParameterCount count_parameters(const ModelSpec& m) {
  PLEAT_ASSERT(m.layers > 0 &&
               (!m.moe || m.moe_layer.size() == static_cast<std::size_t>(m.layers)));
  const Count h = m.hidden, norm = h * norm_width(m);
  const Count moe_layers = m.moe_layers(), dense_layers = m.layers - moe_layers;
  ParameterCount count;
  count.attention_per_layer = attention_parameters(m);
  count.dense_mlp_per_layer = dense_layers > 0 ? dense_mlp_parameters(m) : 0;
  count.moe_per_layer = m.moe ? moe_parameters(m, m.moe->experts) : 0;
  count.embedding = m.vocab * h;

  const Count tables = count.embedding * (m.tied_embeddings ? 1 : 2) + m.learned_positions * h;
  const Count around = tables + norm + m.layers * (count.attention_per_layer + 2 * norm) +
                       dense_layers * count.dense_mlp_per_layer;
  count.total = around + moe_layers * count.moe_per_layer;
  count.active = around + (m.moe ? moe_layers * moe_parameters(m, m.moe->top_k) : 0);
  const Count last_mlp = m.is_moe(m.layers - 1) ? count.moe_per_layer : count.dense_mlp_per_layer;
  count.mtp =
      m.mtp_layers * (2 * h * h + 3 * norm + count.attention_per_layer + 2 * norm + last_mlp);
  return count;
}

Flops model_flops_per_token(const ModelSpec& m, std::int64_t seq_len) {
  const auto h = static_cast<double>(m.hidden), mtp = static_cast<double>(m.mtp_layers);
  const auto matrices = static_cast<double>(matrices_of_mlp(m));
  const bool mtp_is_moe = m.is_moe(m.layers - 1);  // an MTP depth repeats the last layer's kind
  const double moe_layers = static_cast<double>(m.moe_layers()) + (mtp_is_moe ? mtp : 0);
  const double layers = static_cast<double>(m.layers) + mtp;
  const double dense_layers = layers - moe_layers;
  const double expert_width =
      m.moe ? static_cast<double>(m.moe->ffn * m.moe->top_k + m.moe->shared_ffn) : 0;
  const double mlp =
      h * matrices * (static_cast<double>(m.ffn) * dense_layers + expert_width * moe_layers);
  const double attention = layers * (static_cast<double>(attention_linear(m)) +
                                     static_cast<double>(seq_len) * attention_core(m));
  const double head = h * static_cast<double>(m.vocab) * (1 + mtp);
  return Flops(6 * (mlp + attention + mtp * (3 * h + 2 * h * h) + head));
}

}  // namespace pleat
