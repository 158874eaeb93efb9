// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The conventions are those of the classes in huggingface/transformers (configuration_*.py defaults
// and modeling_*.py), and of the remote code of DeepSeek and Kimi.
#include "core/spec/hf_family.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

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
      {.model_type = "mixtral", .moe = true, .expert_ffn_is_intermediate = true},
      {.model_type = "llama"},
      {.model_type = "mistral"},
      {.model_type = "qwen3", .qk_norm = true},
      {.model_type = "qwen2",
       .qkv_bias = true,
       .bias_field = "qkv_bias",
       .bias_covers_output = false},
      {.model_type = "gpt2", .gpt2_names = true, .qkv_bias = true},
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
