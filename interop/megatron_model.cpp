// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Architecture flags of Megatron-LM's pretrain_gpt.py for a model, and which models have none.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/elementwise.hpp"
#include "interop/balance_loss.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

// Megatron-LM has one switch for the biases of all linear layers and one for those of q, k and v.
struct Biases {
  bool mlp = false, out = false, qkv = false;
};
Biases biases(const ModelSpec& m) {
  const bool mlp = has_dense_layer(m) ? m.mlp_bias : (m.moe && m.moe->mlp_bias);
  return {mlp, m.attention.out_bias, m.attention.qkv_bias};
}

bool any_trait(const ModelSpec& m, bool (*asks)(const LayerTraits&)) {
  return std::any_of(m.layer_traits.begin(), m.layer_traits.end(), asks);
}

std::vector<int> by_layer(const ModelSpec& m, bool (*asks)(const LayerTraits&)) {
  std::vector<int> values;
  for (const LayerTraits& t : m.layer_traits) values.push_back(asks(t) ? 1 : 0);
  return values;
}

bool is_recurrent(const LayerTraits& t) { return t.mixer == Mixer::gated_delta_net; }
bool has_window(const LayerTraits& t) { return t.window > 0; }
bool is_sparse(const LayerTraits& t) { return t.sparse; }

std::int64_t window_of(const ModelSpec& m) {
  for (const LayerTraits& t : m.layer_traits)
    if (t.window > 0) return t.window;
  return 0;
}

void write_sizes(const ModelSpec& m, Exported& e) {
  add(e, "--num-layers", m.layers);
  add(e, "--hidden-size", m.hidden);
  if (m.ffn > 0) add(e, "--ffn-hidden-size", m.ffn);
  add(e, "--vocab-size", m.vocab);
  if (!m.tied_embeddings) add(e, "--untie-embeddings-and-output-weights");
  add(e, "--normalization", {m.norm == NormKind::rms_norm ? "RMSNorm" : "LayerNorm"});
  add(e, "--norm-epsilon", m.norm_eps);
  add(e, "--attention-dropout", {"0"});
  add(e, "--hidden-dropout", {"0"});
}

void write_activation(const ModelSpec& m, Exported& e) {
  const Biases b = biases(m);
  if (!b.mlp && !b.out) {
    add(e, "--disable-bias-linear");
    if (b.qkv) add(e, "--add-qkv-bias");
  }
  switch (m.activation) {
    case Activation::silu:
      return add(e, "--swiglu");
    case Activation::gelu:
      if (!b.mlp) add(e, "--no-bias-gelu-fusion");
      return;
    case Activation::squared_relu:
      add(e, "--squared-relu");
      return add(e, "--no-bias-gelu-fusion");
    case Activation::clamped_swiglu:
      add(e, "--quick-geglu");
      add(e, "--activation-func-clamp-value", static_cast<double>(kGluLimit));
      add(e, "--glu-linear-offset", 1.0);
  }
}

// Grouped experts with biases exclude this fusion (core/transformer/moe/experts.py:205).
void write_bias_fusion(const ModelSpec& m, Exported& e) {
  const Biases b = biases(m);
  if (m.moe && (b.mlp || b.out)) add(e, "--no-bias-dropout-fusion");
}

void write_gqa(const AttentionSpec& a, Exported& e) {
  add(e, "--kv-channels", a.head_dim);
  if (a.kv_groups < a.heads) {
    add(e, "--group-query-attention");
    add(e, "--num-query-groups", a.kv_groups);
  }
  if (a.wide_qk_norm) {
    miss(e, "model.attention.wide_qk_norm", "true", "--qk-layernorm norms each head by itself");
  } else if (a.qk_norm) {
    add(e, "--qk-layernorm");
  }
}

void write_mla(const AttentionSpec& a, std::int64_t hidden, Exported& e) {
  add(e, "--multi-latent-attention");
  if (hidden % a.heads != 0) add(e, "--kv-channels", a.v_head_dim);
  if (a.q_lora_rank > 0) add(e, "--q-lora-rank", a.q_lora_rank);
  add(e, "--kv-lora-rank", a.kv_lora_rank);
  add(e, "--qk-head-dim", a.qk_nope_head_dim);
  add(e, "--qk-pos-emb-head-dim", a.qk_rope_head_dim);
  add(e, "--v-head-dim", a.v_head_dim);
  add(e, "--qk-layernorm");  // the norms of the latents
}

void write_attention(const ModelSpec& m, Exported& e) {
  const AttentionSpec& a = m.attention;
  add(e, "--num-attention-heads", a.heads);
  if (a.kind == AttentionKind::gqa) write_gqa(a, e);
  if (a.kind == AttentionKind::mla) write_mla(a, m.hidden, e);
  if (a.sinks) add(e, "--softmax-type", {"learnable"});
  if (a.output_gate) add(e, "--attention-output-gate");
  if (const std::int64_t window = window_of(m); window > 0) {
    add(e, "--window-size", {fmt::format("({},0)", window - 1)});
    const std::vector<int> windows = by_layer(m, has_window);
    if (std::find(windows.begin(), windows.end(), 0) != windows.end())
      add(e, "--window-attn-skip-freq", {pattern_text(windows)});
  }
  if (any_trait(m, is_sparse)) {
    add(e, "--experimental-attention-variant", {"dsa"});
    add(e, "--dsa-indexer-n-heads", a.index_heads);
    add(e, "--dsa-indexer-head-dim", a.index_dim);
    add(e, "--dsa-indexer-topk", a.index_top_k);
    add(e, "--no-rope-fusion");
  }
}

void write_recurrence(const ModelSpec& m, Exported& e) {
  if (!m.recurrence || !any_trait(m, is_recurrent)) return;
  add(e, "--experimental-attention-variant", {"gated_delta_net"});
  add(e, "--linear-attention-freq", {pattern_text(by_layer(m, is_recurrent))});
  add(e, "--linear-num-key-heads", m.recurrence->key_heads);
  add(e, "--linear-num-value-heads", m.recurrence->value_heads);
  add(e, "--linear-key-head-dim", m.recurrence->key_dim);
  add(e, "--linear-value-head-dim", m.recurrence->value_dim);
  add(e, "--linear-conv-kernel-dim", m.recurrence->conv);
}

void write_balance(const MoeSpec& moe, Exported& e) {
  std::vector<std::string> kinds, factors;
  for (const BalanceLoss& loss : balance_losses(moe)) {
    kinds.push_back(loss.kind);
    factors.push_back(fmt::format("{}", loss.factor));
  }
  add(e, "--moe-router-load-balancing-type", kinds);
  add(e, "--moe-aux-loss-coeff", factors);
  if (moe.z_loss > 0) add(e, "--moe-z-loss-coeff", moe.z_loss);
  if (moe.bias_update > 0) add(e, "--moe-router-bias-update-rate", moe.bias_update);
}

void write_routing(const MoeSpec& moe, Exported& e) {
  add(e, "--moe-router-topk", moe.top_k);
  if (moe.score == RouterScore::sigmoid) {
    add(e, "--moe-router-score-function", {"sigmoid"});
    if (!moe.normalize_top_k && moe.top_k > 1) {
      miss(e, "model.moe.normalize_top_k", "false",
           "Megatron-LM divides sigmoid scores by their sum");
    }
  } else if (!moe.normalize_top_k || moe.top_k == 1) {
    add(e, "--moe-router-pre-softmax");
    if (moe.normalize_top_k) {
      miss(e, "model.moe.normalize_top_k", "true",
           "Megatron-LM wants the softmax before a top-1 choice, which leaves its weight below 1");
    }
  }
  if (moe.groups > 1) {
    add(e, "--moe-router-num-groups", moe.groups);
    add(e, "--moe-router-group-topk", moe.top_groups);
  }
  if (moe.expert_bias && moe.score == RouterScore::sigmoid)
    add(e, "--moe-router-enable-expert-bias");
  if (moe.scaling_factor != 1.0) add(e, "--moe-router-topk-scaling-factor", moe.scaling_factor);
  if (moe.router_bias) miss(e, "model.moe.router_bias", "true", "no flag");
  write_balance(moe, e);
}

void write_moe(const ModelSpec& m, Exported& e) {
  if (!m.moe) return;
  add(e, "--num-experts", m.moe->experts);
  add(e, "--moe-ffn-hidden-size", m.moe->ffn);
  if (has_dense_layer(m)) {
    add(e, "--moe-layer-freq",
        {pattern_text(std::vector<int>(m.moe_layer.begin(), m.moe_layer.end()))});
  }
  write_routing(*m.moe, e);
  if (m.moe->shared_ffn > 0) {
    add(e, "--moe-shared-expert-intermediate-size", m.moe->shared_ffn);
    if (m.moe->shared_gate) add(e, "--moe-shared-expert-gate");
  }
  if (m.moe->latent > 0) add(e, "--moe-latent-size", m.moe->latent);
  if (m.moe->latent_norm) miss(e, "model.moe.latent_norm", "true", "no flag");
  add(e, "--moe-grouped-gemm");
}

bool mixes_otherwise(C c) {
  return any_trait(c.model(), [](const LayerTraits& t) {
    return t.mixer == Mixer::mamba2 || t.mixer == Mixer::none || t.mixer == Mixer::kimi_delta ||
           t.mixer == Mixer::mamba1 || t.mixer == Mixer::short_conv || !t.mlp;
  });
}

bool differs_in_windows(C c) {
  const std::int64_t window = window_of(c.model());
  return std::any_of(
      c.model().layer_traits.begin(), c.model().layer_traits.end(),
      [&](const LayerTraits& t) { return t.chunked || (t.window > 0 && t.window != window); });
}

bool is_partly_sparse(C c) {
  const auto& traits = c.model().layer_traits;
  if (!any_trait(c.model(), is_sparse)) return false;
  return c.model().attention.kind != AttentionKind::mla ||
         !std::all_of(traits.begin(), traits.end(),
                      [](const LayerTraits& t) { return t.sparse && t.own_indexer; });
}

bool has_uneven_biases(C c) {
  const Biases b = biases(c.model());
  return b.mlp != b.out || (b.mlp && !b.qkv) ||
         (has_dense_layer(c.model()) && c.model().moe && c.model().moe->mlp_bias != b.mlp);
}

std::vector<Refusal> make_megatron_model_refusals() {
  return {
      {"model.layer_traits", "has layers that are Mamba, Kimi delta attention or an MLP alone",
       "pretrain_gpt.py mixes attention and gated delta networks only",
       "core/transformer/transformer_config.py:301", mixes_otherwise},
      {"model.attention.kind", "compressed attention has no counterpart", "",
       "core/transformer/transformer_config.py:288",
       [](C c) { return c.model().attention.kind == AttentionKind::compressed; }},
      {"model.layer_traits", "has windows of several kinds or in chunks",
       "--window-size is one sliding window", "training/arguments.py:2384", differs_in_windows},
      {"model.local_attention", "layers with a window have attention of other sizes", "",
       "training/arguments.py:2384",
       [](C c) {
         return c.model().local_attention && *c.model().local_attention != c.model().attention;
       }},
      {"model.layer_traits", "not every layer has sparse attention with an indexer of its own",
       "--experimental-attention-variant dsa is for latent attention in all layers",
       "core/transformer/transformer_config.py:301", is_partly_sparse},
      {"model.attention.keys_are_values", "keys that are values too have no flag", "",
       "training/arguments.py", [](C c) { return c.model().attention.keys_are_values; }},
      {"model.attention.v_head_dim", "values of another size than keys need latent attention", "",
       "core/transformer/transformer_config.py:184",
       [](C c) {
         const AttentionSpec& a = c.model().attention;
         return a.kind == AttentionKind::gqa && a.v_dim() != a.head_dim;
       }},
      {"model.attention.output_gate", "an output gate excludes latent attention", "",
       "core/transformer/transformer_config.py:3349",
       [](C c) {
         return c.model().attention.output_gate && c.model().attention.kind == AttentionKind::mla;
       }},
      {"model.gated_mlp", "has no flag for this activation, gated or not as it is here",
       "SwiGLU, GELU or squared ReLU", "training/arguments.py:2444",
       [](C c) {
         const Activation a = c.model().activation;
         const bool gated = a == Activation::silu || a == Activation::clamped_swiglu;
         return c.model().gated_mlp != gated;
       }},
      {"model.mlp_bias", "has biases in some linear layers only",
       "all linear layers, none, or those of q, k and v",
       "core/transformer/transformer_config.py:212", has_uneven_biases},
      {"plan.expert.etp", "experts with biases need ETP 1", "",
       "core/transformer/transformer_config.py:2613",
       [](C c) { return is_moe(c) && biases(c.model()).mlp && c.plan().expert.etp > 1; }},
      {"model.norms_per_layer", "norms after attention and MLP have no flag", "",
       "core/transformer/transformer_config.py:256",
       [](C c) { return c.model().norms_per_layer != 2; }},
      {"model.residual_streams", "hyper-connections exclude a pipeline, full recompute and MTP", "",
       "core/transformer/transformer_config.py:2064",
       [](C c) {
         return c.model().residual_streams > 1 &&
                (c.plan().attention.pp > 1 || c.plan().recompute_full || c.model().mtp_layers > 0);
       }},
      {"model.moe.expert_bias", "an expert bias needs sigmoid scores", "",
       "core/transformer/transformer_config.py:2621",
       [](C c) {
         return is_moe(c) && c.model().moe->expert_bias &&
                c.model().moe->score != RouterScore::sigmoid;
       }},
      {"model.mtp_layers", "multi-token prediction needs rotary positions", "",
       "training/arguments.py:883",
       [](C c) { return c.model().mtp_layers > 0 && c.model().learned_positions > 0; }},
      {"model.attention.rope_theta", "--rotary-base takes whole numbers", "",
       "training/arguments.py:2418",
       [](C c) {
         const double theta = c.model().attention.rope_theta;
         return c.model().learned_positions == 0 && theta != std::round(theta);
       }},
  };
}

}  // namespace

void write_megatron_model(const ExportContext& c, Exported& e) {
  const ModelSpec& m = c.model();
  write_sizes(m, e);
  write_activation(m, e);
  write_bias_fusion(m, e);
  write_positions(m, e);
  write_attention(m, e);
  write_recurrence(m, e);
  write_moe(m, e);
  if (m.mtp_layers > 0) add(e, "--mtp-num-layers", m.mtp_layers);
  if (m.residual_streams > 1) {
    add(e, "--enable-mhc-connections");
    add(e, "--mhc-num-residual-streams", m.residual_streams);
  }
  if (!m.layer_traits.empty() && m.mtp_layers > 0 && m.mtp_traits != m.layer_traits.back()) {
    miss(e, "model.mtp_traits", "another layer than the last",
         "Megatron-LM's prediction layer is like the last one");
  }
}

const std::vector<Refusal>& megatron_model_refusals() {
  static const std::vector<Refusal> list = make_megatron_model_refusals();
  return list;
}

}  // namespace pleat::interop
