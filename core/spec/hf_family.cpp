// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The conventions are those of the classes in huggingface/transformers (configuration_*.py defaults
// and modeling_*.py), and of the remote code of DeepSeek and Kimi.
#include "core/spec/hf_family.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/spec/hf_parts.hpp"

namespace pleat {

const std::vector<HfFamily>& hf_families() {
  static const std::vector<HfFamily> families{
      {.model_type = "deepseek_v3",
       .attention = AttentionKind::mla,
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true},
      {.model_type = "deepseek_v2",
       .attention = AttentionKind::mla,
       .moe = true,
       .normalize_top_k = false},
      {.model_type = "kimi_k2",
       .attention = AttentionKind::mla,
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true},
      {.model_type = "qwen3_moe", .moe = true, .qk_norm = true},
      {.model_type = "qwen2_moe",
       .moe = true,
       .qkv_bias = true,
       .bias_field = "qkv_bias",
       .bias_covers_output = false,
       .shared_gate = true,
       .normalize_top_k = false},
      {.model_type = "mixtral",
       .moe = true,
       .expert_ffn_is_intermediate = true,
       .read_layers = read_windows},
      {.model_type = "llama"},
      {.model_type = "mistral", .read_layers = read_windows},
      {.model_type = "qwen3", .qk_norm = true},
      {.model_type = "qwen2",
       .qkv_bias = true,
       .bias_field = "qkv_bias",
       .bias_covers_output = false},
      {.model_type = "gpt2", .gpt2_names = true, .qkv_bias = true},
      {.model_type = "nemotron",
       .norm = NormKind::layer_norm,
       .activation = Activation::squared_relu,
       .gated = false,
       .activations = {"relu2"}},
      {.model_type = "grok-1",
       .moe = true,
       .expert_ffn_is_intermediate = true,
       .activation = Activation::gelu,
       .activations = {"gelu"}},
      {.model_type = "gpt_oss",
       .moe = true,
       .qkv_bias = true,
       .expert_ffn_is_intermediate = true,
       .router_bias = true,
       .expert_mlp_bias = true,
       .activation = Activation::clamped_swiglu,
       .sinks = true,
       .read_layers = read_windows},
      {.model_type = "llama4_text",
       .moe = true,
       .expert_ffn_is_intermediate = true,
       .score = RouterScore::sigmoid,
       .normalize_top_k = false,
       .shared_is_expert = true,
       .read_layers = read_chunks},
      {.model_type = "minimax_m2",
       .moe = true,
       .qk_norm = true,
       .expert_ffn_is_intermediate = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true},
      {.model_type = "minimax_m3",
       .moe = true,
       .qk_norm = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .activations = {"silu", "swigluoai"},
       .read_layers = read_sparse_block_layers},
      {.model_type = "mimo_v2_flash",
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .read_layers = read_mimo_layers},
      {.model_type = "deepseek_v32",
       .attention = AttentionKind::mla,
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .read_layers = read_indexed_layers},
      {.model_type = "glm_moe_dsa",
       .attention = AttentionKind::mla,
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .read_layers = read_indexed_layers},
      {.model_type = "deepseek_v4",
       .attention = AttentionKind::compressed,
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .sinks = true,
       .read_layers = read_compressed_layers},
      {.model_type = "qwen3_next",
       .moe = true,
       .qk_norm = true,
       .shared_gate = true,
       .read_layers = read_delta_net_layers},
      {.model_type = "qwen3_5_moe_text",
       .moe = true,
       .qk_norm = true,
       .shared_gate = true,
       .read_layers = read_delta_net_layers},
      {.model_type = "kimi_linear",
       .attention = AttentionKind::mla,
       .moe = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .activations = {"silu", "situ"},
       .read_layers = read_kimi_layers},
      {.model_type = "gemma4_text",
       .moe = true,
       .qk_norm = true,
       .activation = Activation::gelu,
       .activations = {"gelu_pytorch_tanh"},
       .read_layers = read_gemma_layers},
      {.model_type = "nemotron_h",
       .moe = true,
       .moe_optional = true,
       .score = RouterScore::sigmoid,
       .expert_bias = true,
       .activation = Activation::squared_relu,
       .gated = false,
       .activations = {"relu2"},
       .read_layers = read_nemotron_h_layers},
  };
  return families;
}

const HfFamily* find_hf_family(std::string_view model_type) {
  const auto& all = hf_families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const HfFamily& family) {
    return family.model_type == model_type;
  });
  return found == all.end() ? nullptr : &*found;
}

const HfFamily& nearest_hf_family(const std::string& model_type, const JsonValue& config) {
  std::vector<std::string> names;
  for (const HfFamily& family : hf_families()) names.emplace_back(family.model_type);
  std::string near = nearest_name(model_type, names);
  const auto has = [&](std::string_view key) { return config.find(key) != nullptr; };
  const bool moe = has("num_experts") || has("num_local_experts") || has("n_routed_experts");
  const HfFamily* named = near.empty() ? nullptr : find_hf_family(near);
  const bool mla = has("kv_lora_rank");
  if (named == nullptr || named->moe != moe || (named->attention == AttentionKind::mla) != mla) {
    near = mla                        ? "deepseek_v3"
           : has("num_local_experts") ? "mixtral"
           : has("n_embd")            ? "gpt2"
           : moe                      ? "qwen3_moe"
                                      : "llama";
  }
  return *find_hf_family(near);
}

}  // namespace pleat
