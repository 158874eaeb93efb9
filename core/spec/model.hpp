// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a model is, independent of how it is run: the facts of a Hugging Face config.json.
// Symbols follow docs/MODEL.md: L layers, h hidden, V vocabulary, n heads, g kv groups, d head
// size, f dense FFN, E experts, k top-k, fe expert FFN, fs total shared-expert FFN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/spec/rope.hpp"

namespace pleat {

// gqa covers multi-head (g == n) and multi-query (g == 1). compressed (DeepSeek-V4): q through a
// latent, one head that is key and value of all, output through a grouped latent.
enum class AttentionKind { gqa, mla, compressed };
enum class NormKind { rms_norm, layer_norm };
enum class RouterScore { softmax, sigmoid };
// clamped_swiglu: gpt-oss, always gated (core/elementwise.hpp).
enum class Activation { silu, gelu, squared_relu, clamped_swiglu };
// What mixes the tokens of a layer.
enum class Mixer : std::uint8_t {
  attention,
  gated_delta_net,
  kimi_delta,
  mamba2,
  mamba1,
  short_conv,
  none
};

struct AttentionSpec {
  AttentionKind kind = AttentionKind::gqa;
  std::int64_t heads = 0;
  std::int64_t kv_groups = 0;
  std::int64_t head_dim = 0;  // gqa
  bool qk_norm = false;       // RMSNorm over head_dim of q and k
  bool wide_qk_norm = false;  // the same over all heads of q, all of k (OLMoE); with qk_norm
  bool qkv_bias = false;
  bool out_bias = false;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling = {};
  bool rope_interleaved = false;  // pairs are neighbours, else columns i and i + half
  // mla only
  std::int64_t q_lora_rank = 0;  // 0: q is projected from h directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;   // gqa: 0 means head_dim
  std::int64_t rotary_dim = 0;   // gqa: columns of a head that rotate; 0: all of them
  bool sinks = false;            // a learned logit per head beside the scores (gpt-oss)
  bool output_gate = false;      // sigmoid gate on the heads' output, projected from the input
  bool keys_are_values = false;  // gqa: no projection of its own for v (Gemma 4)
  // compressed only
  std::int64_t out_groups = 0;     // heads in groups, each projected to
  std::int64_t out_lora_rank = 0;  //   this many columns, all groups together to h
  // Indexer of sparse attention: picks the keys that a query sees. 0 heads: none.
  std::int64_t index_heads = 0;
  std::int64_t index_dim = 0;
  std::int64_t index_top_k = 0;  // keys a query keeps
  bool operator==(const AttentionSpec&) const = default;

  [[nodiscard]] std::int64_t qk_dim() const {
    return kind == AttentionKind::mla ? qk_nope_head_dim + qk_rope_head_dim : head_dim;
  }
  [[nodiscard]] std::int64_t v_dim() const { return v_head_dim > 0 ? v_head_dim : head_dim; }
};

// A recurrence in place of attention. Mamba-2 in the same words: a group's B and C are a key head's
// key and query, the state size is key_dim, a head of the inner width is a value head. Mamba-1:
// every column of the inner width is a value head, its B and C are one key head's. A short
// convolution (LFM2): h heads of one column; its two gates are the keys.
struct RecurrenceSpec {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;    // of one head
  std::int64_t value_dim = 0;  // of one head
  std::int64_t conv = 0;       // width of the causal convolution before it
  std::int64_t gate_rank =
      0;  // kimi_delta: columns that the output gate comes through; 0: directly
  std::int64_t step_rank = 0;  // mamba1: columns that the steps come through
  bool inner_norms = false;    // mamba1: RMSNorm of those columns, of B and of C (Jamba)
  bool operator==(const RecurrenceSpec&) const = default;

  [[nodiscard]] std::int64_t keys() const { return key_heads * key_dim; }
  [[nodiscard]] std::int64_t values() const { return value_heads * value_dim; }
};

// How one decoder layer differs from full attention and an MLP. Layers that compare equal (and are
// both MoE or not) share a program.
struct LayerTraits {
  Mixer mixer = Mixer::attention;
  bool mlp = true;               // false: the layer is its mixer alone (Nemotron-H)
  std::int64_t window = 0;       // keys a query reaches, its own included; 0: all before it
  bool chunked = false;          // the window is an aligned chunk rather than a sliding one
  bool sparse = false;           // only the keys that an indexer picks
  bool own_indexer = false;      // sparse, and the indexer is this layer's
  std::int64_t compression = 0;  // compressed: positions beyond the window, so many to one key
  auto operator<=>(const LayerTraits&) const = default;
};

struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;         // of one expert
  std::int64_t shared_ffn = 0;  // all shared experts together; 0: none
  bool shared_gate = false;     // sigmoid gate on the shared expert (Qwen2-MoE)
  RouterScore score = RouterScore::softmax;
  std::int64_t groups = 1;      // group-limited routing: experts in `groups` groups,
  std::int64_t top_groups = 1;  //   the best `top_groups` of them are eligible
  bool expert_bias = false;     // per-expert bias for selection only, not for the weight
  bool normalize_top_k = true;  // divide the k probabilities by their sum
  double scaling_factor = 1.0;  // on the k probabilities
  std::int64_t latent = 0;      // width of the routed experts' input and output; 0: hidden
  bool latent_norm = false;     // RMSNorm of the latent before the experts
  bool router_bias = false;     // trained, added to the logits
  bool mlp_bias = false;        // in the experts' two matrices
  // Training. Factors of the losses beside the cross entropy, 0: none (docs/MODEL.md section 13).
  double aux_loss = 0;      // balance over a microbatch (Switch Transformers)
  double seq_aux_loss = 0;  // balance within a sequence (DeepSeek-V3)
  double z_loss = 0;        // size of the router's logits (ST-MoE)
  double bias_update = 0;   // step of the expert bias after each training step; 0: it stays
  bool operator==(const MoeSpec&) const = default;
};

struct ModelSpec {
  std::string name;
  std::string model_type;  // Hugging Face family
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t ffn = 0;  // dense MLP width
  bool gated_mlp = true;
  Activation activation = Activation::silu;
  bool mlp_bias = false;
  NormKind norm = NormKind::rms_norm;
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  std::int64_t learned_positions = 0;  // rows of a learned position table (GPT-2/3); 0: RoPE
  std::int64_t mtp_layers = 0;         // multi-token prediction depths
  double mtp_loss = 0.1;               // factor of their loss
  AttentionSpec attention;
  std::optional<MoeSpec> moe;
  std::vector<bool> moe_layer;  // size L: which decoder layers are MoE; all false when !moe
  // Hybrids.
  std::vector<LayerTraits> layer_traits;         // size L; empty: every layer is the default
  LayerTraits mtp_traits;                        // of a prediction depth's layer
  std::optional<AttentionSpec> local_attention;  // of layers with a window, if another
  std::optional<RecurrenceSpec> recurrence;      // of layers whose mixer is one
  std::int64_t norms_per_layer = 2;              // over h; 4: also after attention and MLP (Gemma)
  std::int64_t residual_streams = 1;             // hyper-connections: copies of the residual stream
  // What the model has and this does not tell, in words: neither counted nor priced.
  std::vector<std::string> left_out;
  bool operator==(const ModelSpec&) const = default;

  [[nodiscard]] LayerTraits traits(std::int64_t layer) const {
    return layer_traits.empty() ? LayerTraits{} : layer_traits[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] const AttentionSpec& attention_of(const LayerTraits& t) const {
    return t.window > 0 && local_attention ? *local_attention : attention;
  }

  [[nodiscard]] bool is_moe(std::int64_t layer) const {
    return moe && moe_layer[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] std::int64_t moe_layers() const;
};

// Parameter counts (docs/MODEL.md section 1). `total` and `active` leave MTP out; `active` counts
// both embeddings and top_k of the experts.
struct ParameterCount {
  std::int64_t total = 0;
  std::int64_t active = 0;
  std::int64_t attention_per_layer = 0;
  std::int64_t dense_mlp_per_layer = 0;
  std::int64_t moe_per_layer = 0;  // router, experts, shared expert
  std::int64_t embedding = 0;      // input table; the output table is the same size unless tied
  std::int64_t mtp = 0;            // unique parameters of all MTP depths
};
[[nodiscard]] ParameterCount count_parameters(const ModelSpec&);

// How attention's FLOPs are counted. Megatron-LM (training.py): causal scores halved, windows and
// selected keys counted as if all keys were read. Megatron-Bridge: those discounted. Full: scores
// not even halved (NeMo 2.0, MaxText and most READMEs of dgxc-benchmarking).
enum class FlopsConvention { megatron, bridge, full_attention };

// Model FLOPs per token, forward and backward; recompute, router and norms left out
// (docs/MODEL.md section 2).
[[nodiscard]] Flops model_flops_per_token(const ModelSpec&, std::int64_t seq_len,
                                          FlopsConvention = FlopsConvention::megatron);

// Mean number of keys that a query of a causal layer sees, its own included only in windows (the
// halving of Megatron: s/2 of s).
[[nodiscard]] double mean_keys(const LayerTraits&, std::int64_t seq_len);

struct HfImport {
  ModelSpec model;
  std::vector<std::string> unused_fields;  // in the file, not read
  std::vector<std::string> assumptions;    // not in the file, supplied from the family's convention
};
// Reads a Hugging Face config.json. Throws ConfigError naming every bad field.
[[nodiscard]] HfImport read_hf_config(const std::string& text, const std::string& file_name,
                                      const std::string& model_name);

}  // namespace pleat
