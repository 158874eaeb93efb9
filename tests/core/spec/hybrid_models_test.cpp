// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layers that are not all alike: what each family's config says about them, and a plan file keeps.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/resolved_model.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

std::int64_t mixer_layers(const ModelSpec& m, Mixer mixer) {
  return std::count_if(m.layer_traits.begin(), m.layer_traits.end(),
                       [&](const LayerTraits& t) { return t.mixer == mixer; });
}

TEST(HybridModels, GptOss) {
  const ModelSpec m = load_model("gpt-oss-20b").model;
  EXPECT_EQ(m.activation, Activation::clamped_swiglu);
  EXPECT_TRUE(m.gated_mlp);
  EXPECT_EQ(m.traits(0).window, 128);
  EXPECT_EQ(m.traits(1).window, 0);
  EXPECT_TRUE(m.attention.sinks);
  EXPECT_TRUE(m.attention.qkv_bias);
  EXPECT_TRUE(m.attention.out_bias);
  EXPECT_TRUE(m.moe->router_bias);
  EXPECT_TRUE(m.moe->mlp_bias);
}

TEST(HybridModels, Llama4ChunksThreeLayersOfFour) {
  const ModelSpec m = load_model("llama4-maverick").model;
  EXPECT_EQ(m.traits(2).window, 8192);
  EXPECT_TRUE(m.traits(2).chunked);
  EXPECT_EQ(m.traits(3), LayerTraits{});
  EXPECT_FALSE(m.is_moe(0));
  EXPECT_TRUE(m.is_moe(1));
  EXPECT_EQ(m.ffn, 16384);
  EXPECT_EQ(m.moe->ffn, 8192);
  EXPECT_EQ(m.moe->shared_ffn, 8192);
}

TEST(HybridModels, MimoAndGemmaHaveTwoShapes) {
  const ModelSpec mimo = load_model("mimo-v2-flash").model;
  EXPECT_EQ(mimo.attention_of(mimo.traits(0)).kv_groups, 4);
  EXPECT_FALSE(mimo.attention_of(mimo.traits(0)).sinks);
  EXPECT_EQ(mimo.attention_of(mimo.traits(1)).kv_groups, 8);
  EXPECT_TRUE(mimo.attention_of(mimo.traits(1)).sinks);
  EXPECT_EQ(mimo.attention.v_dim(), 128);
  EXPECT_EQ(mimo.attention.rotary_dim, 64);
  const ModelSpec gemma = load_model("gemma-4-26b-a4b").model;
  EXPECT_EQ(gemma.attention_of(gemma.traits(5)).head_dim, 512);
  EXPECT_EQ(gemma.attention_of(gemma.traits(4)).head_dim, 256);
  EXPECT_EQ(gemma.moe->shared_ffn, 2112);
  EXPECT_EQ(gemma.activation, Activation::gelu);
}

TEST(HybridModels, Recurrences) {
  const ModelSpec qwen = load_model("qwen3-next-80b-a3b").model;
  EXPECT_EQ(mixer_layers(qwen, Mixer::gated_delta_net), 36);
  EXPECT_EQ(qwen.traits(3).mixer, Mixer::attention);
  EXPECT_EQ(qwen.recurrence->keys(), 2048);
  EXPECT_EQ(qwen.recurrence->values(), 4096);
  EXPECT_TRUE(qwen.attention.output_gate);
  const ModelSpec kimi = load_model("kimi-k3").model;
  EXPECT_EQ(mixer_layers(kimi, Mixer::kimi_delta), 69);
  EXPECT_EQ(kimi.traits(92).mixer, Mixer::attention);
  EXPECT_EQ(kimi.moe->latent, 3584);
  const ModelSpec nemotron = load_model("nemotron-3-super").model;
  EXPECT_EQ(mixer_layers(nemotron, Mixer::mamba2), 40);
  EXPECT_EQ(mixer_layers(nemotron, Mixer::attention), 8);
  EXPECT_EQ(nemotron.moe_layers(), 40);
  EXPECT_FALSE(nemotron.traits(0).mlp);
  EXPECT_EQ(nemotron.recurrence->values(), 8192);
  EXPECT_EQ(load_model("nemotron-h-56b").model.moe, std::nullopt);
}

TEST(HybridModels, SelectedKeys) {
  const ModelSpec glm = load_model("glm-5.2").model;
  EXPECT_TRUE(glm.traits(3).sparse);
  EXPECT_FALSE(glm.traits(3).own_indexer);
  EXPECT_TRUE(glm.traits(6).own_indexer);
  // All heads together in M2 (qk_norm_type "per_layer"), each head in M3.
  EXPECT_TRUE(load_model("minimax-m2.5").model.attention.wide_qk_norm);
  const ModelSpec minimax = load_model("minimax-m3").model;
  EXPECT_FALSE(minimax.attention.wide_qk_norm);
  EXPECT_FALSE(minimax.traits(2).sparse);
  EXPECT_TRUE(minimax.traits(3).sparse);
  EXPECT_EQ(minimax.attention.index_top_k, 2048);
  const ModelSpec v4 = load_model("deepseek-v4-pro").model;
  EXPECT_EQ(v4.traits(0).compression, 128);
  EXPECT_EQ(v4.traits(2).compression, 4);
  EXPECT_TRUE(v4.traits(2).own_indexer);
  EXPECT_EQ(v4.mtp_traits.compression, 0);
  EXPECT_EQ(v4.mtp_traits.window, 128);
  EXPECT_EQ(v4.residual_streams, 4);
}

// There is no clamped activation without a gate: such a config would be trained as another model.
TEST(HybridModels, GptOssWithoutAGate) {
  std::string text = read_text_file(PLEAT_SOURCE_DIR "/configs/models/gpt-oss-20b.json");
  text.insert(text.find('{') + 1, "\"gated_mlp\": false,");
  try {
    static_cast<void>(read_hf_config(text, "m.json", "m"));
    FAIL() << "it is gated";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("gated_mlp: this activation is always gated"),
              std::string::npos)
        << e.what();
  }
}

// Published with field names of Hugging Face, gated_mlp and tie_word_embeddings.
TEST(HybridModels, InlineModels) {
  const ModelSpec gpt =
      read_hf_config(
          R"({"model_type": "gpt2", "name": "GPT-1.7B", "hidden_size": 2304,
          "num_hidden_layers": 24,
          "num_attention_heads": 24, "num_key_value_heads": 24, "head_dim": 96,
          "intermediate_size": 9216, "vocab_size": 51200, "tie_word_embeddings": false,
          "gated_mlp": false})",
          "m.json", "m")
          .model;
  EXPECT_EQ(gpt.attention.head_dim, 96);
  EXPECT_FALSE(gpt.tied_embeddings);
  EXPECT_FALSE(gpt.gated_mlp);
  EXPECT_EQ(gpt.learned_positions, 0);
  const ModelSpec moe = read_hf_config(
                            R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
          "intermediate_size": 32, "vocab_size": 100, "tie_word_embeddings": false,
          "gated_mlp": false, "num_experts": 8, "num_experts_per_tok": 3,
          "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48})",
                            "m.json", "m")
                            .model;
  EXPECT_EQ(moe.moe->experts, 8);
  EXPECT_EQ(moe.moe->shared_ffn, 48);
  EXPECT_FALSE(moe.gated_mlp);
}

// A plan file keeps every model as it is.
TEST(HybridModels, PlanFilesKeepThem) {
  for (const std::string& name : config_names(ConfigKind::model)) {
    const ModelSpec model = load_model(name).model;
    const std::string text = write_model(model).dump();
    const JsonValue value = parse_json(text, "plan.json");
    Diagnostics problems;
    const std::string file = "plan.json";
    const ModelSpec again = read_model(ObjectReader(value, "", {file, problems}));
    EXPECT_NO_THROW(problems.throw_if_errors()) << name;
    EXPECT_EQ(again, model) << name;
  }
}

}  // namespace
}  // namespace pleat
