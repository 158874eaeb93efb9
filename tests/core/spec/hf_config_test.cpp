// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Hugging Face configs of each family: what is read, what is assumed, what is left.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& part) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& s) { return s.find(part) != std::string::npos; });
}

TEST(HfConfig, DeepseekV3) {
  const HfImport import = load_model("deepseek-v3");
  const ModelSpec& m = import.model;
  EXPECT_EQ(m.name, "deepseek-v3");
  EXPECT_EQ(m.model_type, "deepseek_v3");
  EXPECT_EQ(m.layers, 61);
  EXPECT_EQ(m.ffn, 18432);
  EXPECT_EQ(m.mtp_layers, 1);
  EXPECT_EQ(m.attention.kind, AttentionKind::mla);
  EXPECT_EQ(m.attention.qk_dim(), 192);
  EXPECT_EQ(m.attention.v_dim(), 128);
  EXPECT_EQ(m.attention.q_lora_rank, 1536);
  EXPECT_EQ(m.moe->experts, 256);
  EXPECT_EQ(m.moe->top_k, 8);
  EXPECT_EQ(m.moe->shared_ffn, 2048);
  EXPECT_FALSE(m.moe->shared_gate);
  EXPECT_EQ(m.moe->score, RouterScore::sigmoid);
  EXPECT_EQ(m.moe->groups, 8);
  EXPECT_EQ(m.moe->top_groups, 4);
  EXPECT_TRUE(m.moe->expert_bias);
  EXPECT_EQ(m.moe->scaling_factor, 2.5);
  EXPECT_EQ(m.moe_layers(), 58);
  EXPECT_FALSE(m.is_moe(2));
  EXPECT_TRUE(m.is_moe(3));
  EXPECT_TRUE(contains(import.unused_fields, "quantization_config"));
  EXPECT_TRUE(contains(import.unused_fields, "auto_map"));
  EXPECT_FALSE(contains(import.unused_fields, "hidden_size"));
  EXPECT_TRUE(import.assumptions.empty());
}

TEST(HfConfig, Families) {
  const ModelSpec mixtral = load_model("mixtral-8x7b").model;
  EXPECT_EQ(mixtral.moe->ffn, 14336);
  EXPECT_EQ(mixtral.moe_layers(), 32);
  EXPECT_EQ(mixtral.attention.rope_theta, 1e6);
  EXPECT_TRUE(mixtral.moe->normalize_top_k);

  const ModelSpec qwen3 = load_model("qwen3-235b-a22b").model;
  EXPECT_TRUE(qwen3.attention.qk_norm);
  EXPECT_FALSE(qwen3.attention.qkv_bias);
  EXPECT_EQ(qwen3.attention.head_dim, 128);

  const ModelSpec qwen2 = load_model("qwen2-57b-a14b").model;
  EXPECT_TRUE(qwen2.attention.qkv_bias);
  EXPECT_FALSE(qwen2.attention.out_bias);
  EXPECT_TRUE(qwen2.moe->shared_gate);
  EXPECT_FALSE(qwen2.moe->normalize_top_k);

  const ModelSpec gpt3 = load_model("gpt3-175b").model;
  EXPECT_EQ(gpt3.norm, NormKind::layer_norm);
  EXPECT_TRUE(gpt3.tied_embeddings);
  EXPECT_FALSE(gpt3.gated_mlp);
  EXPECT_EQ(gpt3.learned_positions, 2048);
  EXPECT_EQ(gpt3.attention.kv_groups, 96);
  EXPECT_EQ(gpt3.moe_layers(), 0);
}

TEST(HfConfig, TinyMoeExercisesEverything) {
  const ModelSpec m = load_model("tiny-moe").model;
  EXPECT_EQ(m.layers, 4);
  EXPECT_EQ(m.vocab, 256);
  EXPECT_EQ(m.moe_layer, (std::vector<bool>{false, true, true, true}));
  EXPECT_GT(m.moe->shared_ffn, 0);
  EXPECT_EQ(m.moe->experts, 8);
  EXPECT_EQ(m.attention.kv_groups, 2);
  EXPECT_FALSE(m.attention.qkv_bias);
}

// Row 17 of the bad inputs: heads * head_dim != hidden is normal and only noted.
TEST(HfConfig, HeadsTimesHeadDimNeedNotBeHidden) {
  const HfImport import = load_model("qwen3-235b-a22b");
  EXPECT_EQ(
      import.assumptions,
      std::vector<std::string>{
          "heads * head_dim = 8192 differs from hidden_size 4096: both are used as they are"});
}

TEST(HfConfig, NestedTextConfigAndUnusedInfinity) {
  const HfImport import = read_hf_config(
      R"({"vision": {"x": 1}, "time_step_limit": [0.0, Infinity],
          "text_config": {"model_type": "llama",
          "num_hidden_layers": 2, "hidden_size": 64,
        "intermediate_size": 128,
          "num_attention_heads": 4,
          "vocab_size": 100, "dtype": "bfloat16"}})",
      "c.json", "nested");
  EXPECT_EQ(import.model.hidden, 64);
  EXPECT_EQ(import.model.attention.kv_groups, 4);
  EXPECT_EQ(import.unused_fields,
            (std::vector<std::string>{"vision", "time_step_limit", "text_config.dtype"}));
  EXPECT_TRUE(contains(import.assumptions, "num_key_value_heads: taken as 4 (one per query head)"));
  EXPECT_TRUE(contains(import.assumptions, "head_dim: taken as 16 (hidden size / heads)"));
  EXPECT_TRUE(contains(import.assumptions, "rope_theta: taken as 10000"));
}

const char* const kMoeStart =
    R"({"model_type": "deepseek_v3", "num_hidden_layers": 4, "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4, "vocab_size": 100, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, )";

std::vector<bool> layers_with(const std::string& field) {
  return read_hf_config(kMoeStart + field + "}", "c.json", "m").model.moe_layer;
}

TEST(HfConfig, WhichLayersAreMoe) {
  EXPECT_EQ(layers_with(R"("first_k_dense_replace": 1)"),
            (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(layers_with(R"("moe_layer_freq": 2)"), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(layers_with(R"("moe_layer_freq": [0, 1, 0, 1])"),
            (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(layers_with(R"("decoder_sparse_step": 2, "mlp_only_layers": [1])"),
            (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(layers_with(R"("interleave_moe_layer_step": 2)"),
            (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(layers_with(R"("mlp_layer_types": ["dense", "sparse", "sparse", "dense"])"),
            (std::vector<bool>{false, true, true, false}));
}

TEST(HfConfig, RouterDefaultsAreSaid) {
  const HfImport import =
      read_hf_config(kMoeStart + std::string(R"("n_shared_experts": 2})"), "c.json", "m");
  EXPECT_EQ(import.model.moe->shared_ffn, 64);
  EXPECT_EQ(import.model.moe->score, RouterScore::sigmoid);
  EXPECT_EQ(import.model.attention.q_lora_rank, 0);
  EXPECT_TRUE(contains(import.assumptions, "scoring_func: taken as sigmoid"));
  EXPECT_TRUE(contains(import.assumptions, "topk_method: taken as noaux_tc"));
}

}  // namespace
}  // namespace pleat
