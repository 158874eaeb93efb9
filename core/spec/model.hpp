// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a model is, independent of how it is run: the facts of a Hugging Face config.json.
// Symbols follow docs/MODEL.md: L layers, h hidden, V vocabulary, n heads, g kv groups, d head size,
// f dense FFN, E experts, k top-k, fe expert FFN, fs total shared-expert FFN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"

namespace pleat {

enum class AttentionKind { gqa, mla };  // gqa covers multi-head (g == n) and multi-query (g == 1)
enum class NormKind { rms_norm, layer_norm };
enum class RouterScore { softmax, sigmoid };

struct AttentionSpec {
  AttentionKind kind = AttentionKind::gqa;
  std::int64_t heads = 0;
  std::int64_t kv_groups = 0;
  std::int64_t head_dim = 0;  // gqa
  bool qk_norm = false;       // RMSNorm over head_dim of q and k
  bool qkv_bias = false;
  bool out_bias = false;
  double rope_theta = 10000.0;
  // mla only
  std::int64_t q_lora_rank = 0;  // 0: q is projected from h directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  bool operator==(const AttentionSpec&) const = default;

  [[nodiscard]] std::int64_t qk_dim() const {
    return kind == AttentionKind::mla ? qk_nope_head_dim + qk_rope_head_dim : head_dim;
  }
  [[nodiscard]] std::int64_t v_dim() const {
    return kind == AttentionKind::mla ? v_head_dim : head_dim;
  }
};

struct MoeSpec {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;         // of one expert
  std::int64_t shared_ffn = 0;  // all shared experts together; 0: none
  bool shared_gate = false;     // sigmoid gate on the shared expert (Qwen2-MoE)
  RouterScore score = RouterScore::softmax;
  std::int64_t groups = 1;       // group-limited routing: experts in `groups` groups,
  std::int64_t top_groups = 1;   //   the best `top_groups` of them are eligible
  bool expert_bias = false;      // per-expert bias for selection only, not for the weight
  bool normalize_top_k = true;   // divide the k probabilities by their sum
  double scaling_factor = 1.0;   // on the k probabilities
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
  bool mlp_bias = false;
  NormKind norm = NormKind::rms_norm;
  double norm_eps = 1e-6;
  bool tied_embeddings = false;
  std::int64_t learned_positions = 0;  // rows of a learned position table (GPT-2/3); 0: RoPE
  std::int64_t mtp_layers = 0;         // multi-token prediction depths
  AttentionSpec attention;
  std::optional<MoeSpec> moe;
  std::vector<bool> moe_layer;  // size L: which decoder layers are MoE; all false when !moe
  bool operator==(const ModelSpec&) const = default;

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

// Model FLOPs per token, forward and backward, causal attention halved, recompute, router and norms
// left out (the convention of Megatron-LM training.py; docs/MODEL.md section 2).
[[nodiscard]] Flops model_flops_per_token(const ModelSpec&, std::int64_t seq_len);

struct HfImport {
  ModelSpec model;
  std::vector<std::string> unused_fields;  // in the file, not read
  std::vector<std::string> assumptions;    // not in the file, supplied from the family's convention
};
// Reads a Hugging Face config.json. Throws ConfigError naming every bad field.
[[nodiscard]] HfImport read_hf_config(const std::string& text, const std::string& file_name,
                                      const std::string& model_name);

}  // namespace pleat
