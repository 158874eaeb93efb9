// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// h hidden, n heads, g kv groups, d head size, s sequence, K keys kept by an indexer, W window.
#include "core/spec/mixer_size.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

using Count = std::int64_t;

// ---- attention. Each matrix once; the norms, biases and sinks beside them in `extras`.

Count gqa_matrices(const ModelSpec& m, const AttentionSpec& a) {
  const Count h = m.hidden, n = a.heads, g = a.kv_groups, d = a.head_dim, dv = a.v_dim();
  return h * (d * (n + g) + (a.keys_are_values ? 0 : g * dv)) + n * dv * h +
         (a.output_gate ? h * n * dv : 0);
}

Count gqa_extras(const ModelSpec& m, const AttentionSpec& a) {
  const Count n = a.heads, g = a.kv_groups, d = a.head_dim;
  Count count = 0;
  if (a.qkv_bias) count += d * (n + g) + (a.keys_are_values ? 0 : g * a.v_dim());
  if (a.out_bias) count += m.hidden;
  if (a.qk_norm) count += (a.wide_qk_norm ? d * (n + g) : 2 * d) * norm_width(m);
  if (a.sinks) count += n;
  return count;
}

Count mla_query(const ModelSpec& m, const AttentionSpec& a) {
  return a.q_lora_rank == 0 ? m.hidden * a.heads * a.qk_dim()
                            : a.q_lora_rank * (m.hidden + a.heads * a.qk_dim());
}

Count mla_matrices(const ModelSpec& m, const AttentionSpec& a) {
  const Count h = m.hidden, n = a.heads, r = a.kv_lora_rank;
  return mla_query(m, a) + h * (r + a.qk_rope_head_dim) +
         r * n * (a.qk_nope_head_dim + a.v_head_dim) + n * a.v_head_dim * h +
         (a.output_gate ? h * n * a.v_head_dim : 0);
}

// A compressor of d columns: keys, gates and (4 to 1) both of them once more for the overlap.
Count compressor_width(const LayerTraits& t, Count d) { return (t.own_indexer ? 2 : 1) * d; }

Count compressor_matrices(const ModelSpec& m, const LayerTraits& t, Count d) {
  return t.compression > 0 ? 2 * m.hidden * compressor_width(t, d) : 0;
}

// Offsets by position within a block, and a norm.
Count compressor_extras(const LayerTraits& t, Count d) {
  return t.compression > 0 ? t.compression * compressor_width(t, d) + d : 0;
}

Count compressed_matrices(const ModelSpec& m, const AttentionSpec& a, const LayerTraits& t) {
  const Count h = m.hidden, n = a.heads, d = a.head_dim;
  const Count out = n * d * a.out_lora_rank + a.out_groups * a.out_lora_rank * h;
  return a.q_lora_rank * (h + n * d) + h * d + out + compressor_matrices(m, t, d);
}

Count compressed_extras(const ModelSpec& m, const AttentionSpec& a, const LayerTraits& t) {
  return norm_width(m) * (a.q_lora_rank + a.head_dim) + (a.sinks ? a.heads : 0) +
         compressor_extras(t, a.head_dim);
}

// Queries from the query's latent (or h), one key for all heads, a weight per head.
Count indexer_matrices(const ModelSpec& m, const AttentionSpec& a, const LayerTraits& t) {
  if (!t.own_indexer) return 0;
  const Count from = a.q_lora_rank > 0 ? a.q_lora_rank : m.hidden;
  const Count query = from * a.index_heads * a.index_dim + m.hidden * a.index_heads;
  return query + (a.kind == AttentionKind::compressed ? compressor_matrices(m, t, a.index_dim)
                                                      : m.hidden * a.index_dim);
}

// The key's norm: LayerNorm where keys are projected, the compressor's own where compressed.
Count indexer_extras(const AttentionSpec& a, const LayerTraits& t) {
  if (!t.own_indexer) return 0;
  return a.kind == AttentionKind::compressed ? compressor_extras(t, a.index_dim) : 2 * a.index_dim;
}

Count attention_matrices(const ModelSpec& m, const AttentionSpec& a, const LayerTraits& t) {
  switch (a.kind) {
    case AttentionKind::gqa:
      return gqa_matrices(m, a);
    case AttentionKind::mla:
      return mla_matrices(m, a);
    case AttentionKind::compressed:
      return compressed_matrices(m, a, t);
  }
  return 0;
}

Count attention_extras(const ModelSpec& m, const AttentionSpec& a, const LayerTraits& t) {
  switch (a.kind) {
    case AttentionKind::gqa:
      return gqa_extras(m, a);
    case AttentionKind::mla:
      return norm_width(m) * (a.q_lora_rank + a.kv_lora_rank);
    case AttentionKind::compressed:
      return compressed_extras(m, a, t);
  }
  return 0;
}

// ---- recurrences

// Gates: GDN one for the output and two per head (decay, step); KDA a decay per key column through
// a rank of one head, a step per head, an output gate, full or through a rank; Mamba-2 an output
// gate and a step per head; Mamba-1 an output gate, and from its inner width B, C and the columns
// that its steps come through; a short convolution two gates.
Count recurrence_matrices(const ModelSpec& m, Mixer mixer) {
  const RecurrenceSpec& r = *m.recurrence;
  const Count h = m.hidden, qk = r.keys(), v = r.values();
  switch (mixer) {
    case Mixer::gated_delta_net:
      return h * (2 * qk + 2 * v + 2 * r.value_heads) + v * h;
    case Mixer::kimi_delta:
      return h * (2 * qk + v + r.value_heads) + (h + qk) * r.key_dim + v * h +
             (r.gate_rank > 0 ? (h + v) * r.gate_rank : h * v);
    case Mixer::mamba2:
      return h * (2 * v + 2 * qk + r.value_heads) + v * h;
    case Mixer::mamba1:
      return h * 2 * v + v * (r.step_rank + 2 * qk) + r.step_rank * v + v * h;
    case Mixer::short_conv:
      return h * (2 * qk + v) + v * h;
    case Mixer::attention:
    case Mixer::none:
      break;
  }
  return 0;
}

Count recurrence_extras(const ModelSpec& m, Mixer mixer) {
  const RecurrenceSpec& r = *m.recurrence;
  const Count conv = r.conv * (2 * r.keys() + r.values());
  switch (mixer) {
    case Mixer::gated_delta_net:
      return conv + 2 * r.value_heads + r.value_dim;
    case Mixer::kimi_delta:
      return conv + r.key_heads + r.keys() + r.value_dim;
    case Mixer::mamba2:  // with the convolution's bias; decay, skip and step offset per head
      return conv + 2 * r.keys() + r.values() + 3 * r.value_heads + r.values();
    case Mixer::mamba1:  // the convolution and the steps with a bias; decay by state, skip
      return (r.conv + 1) * r.values() + r.values() + r.values() * r.key_dim + r.values() +
             (r.inner_norms ? r.step_rank + 2 * r.keys() : 0);
    case Mixer::short_conv:
      return r.conv * r.values();
    case Mixer::attention:
    case Mixer::none:
      break;
  }
  return 0;
}

// An indexer and the sparse core, forward and backward over three: projections and scores are not
// back-propagated beyond the indexer, which learns from the attention it selects (errata of the
// cost model: DSA, trained with the sparse loss).
double sparse_core(const ModelSpec& m, const AttentionSpec& a, const LayerTraits& t, double s) {
  const auto seq = static_cast<std::int64_t>(s);
  const double n = static_cast<double>(a.heads);
  const double kept = mean_selected_keys(a, t, seq);
  const bool mla = a.kind == AttentionKind::mla;
  const double qk = static_cast<double>(mla ? a.kv_lora_rank + a.qk_rope_head_dim : a.qk_dim());
  const double v = static_cast<double>(mla ? a.kv_lora_rank : a.v_dim());
  const double core = kept * n * (qk + v);
  if (!t.own_indexer) return core;
  const double per_key = static_cast<double>(a.index_heads * (a.index_dim + 1));
  const double indexer = 4.0 * static_cast<double>(indexer_matrices(m, a, t)) + (s + 1) * per_key +
                         4.0 * kept * per_key + 2.0 * kept * n * qk;
  return core + indexer / 6.0;
}

double compressed_core(const AttentionSpec& a, const LayerTraits& t, double s) {
  const auto seq = static_cast<std::int64_t>(s);
  const double d = static_cast<double>(a.head_dim), n = static_cast<double>(a.heads);
  const double keys = mean_keys(t, seq) + mean_selected_keys(a, t, seq);
  const double scored = t.own_indexer ? s / (2.0 * static_cast<double>(t.compression)) : 0;
  return 2.0 * n * d * keys + scored * static_cast<double>(a.index_heads * a.index_dim);
}

}  // namespace

Count norm_width(const ModelSpec& m) { return m.norm == NormKind::layer_norm ? 2 : 1; }

double mean_keys(const LayerTraits& t, Count seq_len) {
  const double s = static_cast<double>(seq_len), w = static_cast<double>(t.window);
  if (t.window == 0 || t.window >= seq_len) return s / 2;
  return t.chunked ? w / 2 : w - w * (w - 1) / (2 * s);
}

double mean_selected_keys(const AttentionSpec& a, const LayerTraits& t, Count seq_len) {
  const double s = static_cast<double>(seq_len), kept = static_cast<double>(a.index_top_k);
  if (t.compression > 0) {
    const double ratio = static_cast<double>(t.compression), all = s / ratio;
    return !t.own_indexer || all <= kept ? all / 2 : kept - kept * kept / (2 * all);
  }
  if (!t.sparse) return 0;
  return s <= kept ? (s + 1) / 2 : kept - kept * (kept - 1) / (2 * s);
}

Count mixer_parameters(const ModelSpec& m, const LayerTraits& t) {
  switch (t.mixer) {
    case Mixer::attention: {
      const AttentionSpec& a = m.attention_of(t);
      return attention_matrices(m, a, t) + attention_extras(m, a, t) + indexer_matrices(m, a, t) +
             indexer_extras(a, t);
    }
    case Mixer::gated_delta_net:
    case Mixer::kimi_delta:
    case Mixer::mamba2:
    case Mixer::mamba1:
    case Mixer::short_conv:
      return recurrence_matrices(m, t.mixer) + recurrence_extras(m, t.mixer);
    case Mixer::none:
      return 0;
  }
  return 0;
}

double mixer_linear(const ModelSpec& m, const LayerTraits& t) {
  switch (t.mixer) {
    case Mixer::attention: {
      const AttentionSpec& a = m.attention_of(t);
      // Megatron counts the latent norms of MLA as a multiply-add per column.
      const Count norms = a.kind == AttentionKind::mla ? a.q_lora_rank + a.kv_lora_rank : 0;
      // The indexer of keys that are not compressed is counted with the sparse core.
      const bool indexer = a.kind == AttentionKind::compressed;
      return static_cast<double>(attention_matrices(m, a, t) + norms +
                                 (indexer ? indexer_matrices(m, a, t) : 0));
    }
    case Mixer::gated_delta_net:
    case Mixer::kimi_delta: {
      const RecurrenceSpec& r = *m.recurrence;
      return static_cast<double>(recurrence_matrices(m, t.mixer) +
                                 r.conv * (2 * r.keys() + r.values()));
    }
    case Mixer::mamba1:
    case Mixer::short_conv: {
      const RecurrenceSpec& r = *m.recurrence;
      return static_cast<double>(recurrence_matrices(m, t.mixer) + r.conv * r.values());
    }
    case Mixer::mamba2: {  // Megatron counts an inner width of 2h, whatever it is
      const RecurrenceSpec& r = *m.recurrence;
      return static_cast<double>(m.hidden *
                                 (4 * m.hidden + 2 * r.keys() + r.value_heads + 2 * m.hidden));
    }
    case Mixer::none:
      return 0;
  }
  return 0;
}

double recurrence_core(const RecurrenceSpec& r, Mixer mixer) {
  // Delta rule: state times key, the rank-one update, its decay, state times query. State-space
  // dual form: 7 operations per state element, two of them a multiply-add. Selective scan: the
  // decay (product and exponential), the input's share (two products), update and read (a
  // multiply-add each) are 8. A short convolution is counted with its matrices.
  if (mixer == Mixer::short_conv) return 0;
  const double state = static_cast<double>(r.values() * r.key_dim);
  return mixer == Mixer::mamba2 ? 3.5 * state : 4.0 * state;
}

double mixer_core(const ModelSpec& m, const LayerTraits& t, Count seq_len,
                  FlopsConvention convention) {
  const double s = static_cast<double>(seq_len);
  switch (t.mixer) {
    case Mixer::attention: {
      const AttentionSpec& a = m.attention_of(t);
      const double per_key = static_cast<double>(a.heads * (a.qk_dim() + a.v_dim()));
      if (convention == FlopsConvention::full_attention) return s * per_key;
      if (a.kind == AttentionKind::compressed) return compressed_core(a, t, s);
      if (convention == FlopsConvention::megatron) return s * per_key / 2;
      return t.sparse ? sparse_core(m, a, t, s) : mean_keys(t, seq_len) * per_key;
    }
    case Mixer::gated_delta_net:
    case Mixer::kimi_delta:
    case Mixer::mamba1:
    case Mixer::short_conv:
      return recurrence_core(*m.recurrence, t.mixer);
    case Mixer::mamba2:
      return 7.0 * static_cast<double>(m.hidden * m.recurrence->key_dim);  // 3.5 * 2h * N
    case Mixer::none:
      return 0;
  }
  return 0;
}

Count hyper_connection_parameters(const ModelSpec& m) {
  const Count n = m.residual_streams, outputs = n * n + 2 * n;
  return n == 1 ? 0 : outputs * (n * m.hidden + 1) + 3;
}

Count hyper_head_parameters(const ModelSpec& m) {
  const Count n = m.residual_streams;
  return n == 1 ? 0 : n * (n * m.hidden + 1) + 1;
}

}  // namespace pleat
