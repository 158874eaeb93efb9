// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Families of the transformers library, against its own models: parameters of each config below,
// counted by transformers 5.24.0 (torch 2.15.0) with the model on the meta device. Selection biases
// of routers, which ERNIE has among its parameters, are not counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/resolved_model.hpp"
#include "core/program/program.hpp"
#include "core/spec/model.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Counted {
  const char* name;
  std::int64_t parameters;
  const char* config;
};

void PrintTo(const Counted& c, std::ostream* out) { *out << c.name; }

const Counted kCounted[] = {
    {"olmoe", 13'361'612'800, R"({"model_type": "olmoe", "vocab_size": 50304, "hidden_size": 2048,
      "intermediate_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
      "num_key_value_heads": 16, "num_experts_per_tok": 8, "num_experts": 64,
      "norm_topk_prob": false, "attention_bias": false, "clip_qkv": null})"},
    {"glm4_moe", 352'797'814'784, R"({"model_type": "glm4_moe", "vocab_size": 151552,
      "hidden_size": 5120, "intermediate_size": 12288, "num_hidden_layers": 92,
      "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
      "attention_bias": true, "moe_intermediate_size": 1536, "num_experts_per_tok": 8,
      "n_shared_experts": 1, "n_routed_experts": 160, "routed_scaling_factor": 2.5,
      "first_k_dense_replace": 3, "norm_topk_prob": true, "use_qk_norm": true,
      "num_nextn_predict_layers": 1})"},
    {"phimoe", 41'873'121'280, R"({"model_type": "phimoe", "vocab_size": 32064,
      "hidden_size": 4096, "intermediate_size": 6400, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "num_experts_per_tok": 2,
      "num_local_experts": 16, "attention_bias": true})"},
    {"dbrx", 131'596'523'520, R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48,
      "n_layers": 40, "vocab_size": 100352, "attn_config": {"kv_n_heads": 8, "clip_qkv": 8},
      "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}})"},
    {"granitemoe", 37'039'116'288, R"({"model_type": "granitemoe", "vocab_size": 32000,
      "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    {"granitemoeshared", 37'441'769'472, R"({"model_type": "granitemoeshared",
      "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_local_experts": 8,
      "num_experts_per_tok": 2, "shared_intermediate_size": 1024})"},
    {"granitemoehybrid", 38'456'152'576, R"({"model_type": "granitemoehybrid",
      "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_local_experts": 8,
      "num_experts_per_tok": 2, "shared_intermediate_size": 1024, "mamba_n_heads": 128,
      "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_head": "auto", "mamba_d_conv": 4,
      "mamba_expand": 2, "layer_types": ["mamba", "mamba", "mamba", "mamba", "attention",
      "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba",
      "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba",
      "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba"]})"},
    {"ernie4_5_moe", 21'825'436'160, R"({"model_type": "ernie4_5_moe", "vocab_size": 103424,
      "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
      "num_attention_heads": 20, "num_key_value_heads": 4, "tie_word_embeddings": true,
      "use_bias": false, "moe_intermediate_size": 1536, "moe_k": 6, "moe_num_experts": 64,
      "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": 27,
      "moe_layer_interval": 1})"},
    {"hunyuan_v1_moe", 80'918'155'264, R"({"model_type": "hunyuan_v1_moe",
      "vocab_size": 128167, "hidden_size": 4096, "intermediate_size": 3072,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "attention_bias": false, "num_experts": 64,
      "moe_topk": [8, 8], "moe_intermediate_size": [3072, 3072], "num_shared_expert": [1, 1]})"},
    {"dots1", 142'774'373'888, R"({"model_type": "dots1", "vocab_size": 152064,
      "hidden_size": 4096, "intermediate_size": 10944, "moe_intermediate_size": 1408,
      "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 32,
      "n_shared_experts": 2, "n_routed_experts": 128, "num_experts_per_tok": 6,
      "first_k_dense_replace": 1, "norm_topk_prob": false, "sliding_window": 4096,
      "max_window_layers": 62})"},
    {"lfm2_moe", 8'339'929'856, R"({"model_type": "lfm2_moe", "vocab_size": 65536,
      "hidden_size": 2048, "intermediate_size": 7168, "moe_intermediate_size": 1792,
      "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 8,
      "conv_bias": false, "conv_L_cache": 3, "num_dense_layers": 2, "num_experts_per_tok": 4,
      "num_experts": 32, "use_expert_bias": true, "norm_topk_prob": true, "layer_types": ["conv",
      "conv", "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv",
      "full_attention", "conv", "conv", "conv", "full_attention", "conv", "conv", "conv",
      "full_attention", "conv", "conv", "full_attention", "conv", "conv"]})"},
    {"jamba", 51'570'323'328, R"({"model_type": "jamba", "vocab_size": 65536,
      "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "num_experts_per_tok": 2,
      "num_experts": 16, "expert_layer_period": 2, "expert_layer_offset": 1,
      "attn_layer_period": 8, "attn_layer_offset": 4, "mamba_d_state": 16, "mamba_d_conv": 4,
      "mamba_expand": 2, "mamba_dt_rank": "auto", "mamba_conv_bias": true,
      "mamba_proj_bias": false})"},
    {"kimi_linear", 49'133'074'464, R"({"model_type": "kimi_linear", "vocab_size": 163840,
      "hidden_size": 2304, "intermediate_size": 9216, "moe_intermediate_size": 1024,
      "num_hidden_layers": 27, "num_attention_heads": 32, "num_key_value_heads": 32,
      "num_shared_experts": 1, "routed_scaling_factor": 2.446, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128, "num_expert_group": 1,
      "topk_group": 1, "num_experts_per_token": 8, "moe_renormalize": true, "num_experts": 256,
      "first_k_dense_replace": 1, "linear_attn_config": {"num_heads": 32, "head_dim": 128,
      "short_conv_kernel_size": 4, "full_attn_layers": [5, 9, 13, 17, 21, 25],
      "kda_layers": [1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15, 16, 18, 19, 20, 22, 23, 24, 26,
      27]}})"},
};

class Transformers : public ::testing::TestWithParam<Counted> {};

ModelSpec read_counted(const Counted& c) {
  return read_hf_config(c.config, "config.json", c.name).model;
}

TEST_P(Transformers, ParametersAreItsOwn) {
  EXPECT_EQ(count_parameters(read_counted(GetParam())).total, GetParam().parameters);
}

std::int64_t held_parameters(const Program& program) {
  std::int64_t elements = 0;
  for (const StageProgram& stage : program.stages) {
    for (const BucketState& b : stage.buckets) elements += b.elements;
  }
  return elements;
}

// The program of one rank holds them all; those of several are well formed, too.
TEST_P(Transformers, ProgramsHoldThem) {
  ModelSpec m = read_counted(GetParam());
  m.mtp_layers = 0;
  Plan plan = test::fp32_plan();
  plan.precision = Precision::bf16;
  const WorkloadSpec workload{.seq_len = 256, .global_batch = 1};
  EXPECT_EQ(held_parameters(compile(m, workload, plan, Runtime::megatron)), GetParam().parameters);
  for (const auto& [tp, cp] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    plan.attention.tp = tp;
    plan.attention.cp = cp;
    plan.cp_comm = CpComm::all_gather;
    const Program program = compile(m, workload, plan, Runtime::megatron);
    for (const LayerProgram& layer : program.stages[0].layers) {
      EXPECT_THAT(test::problems_of(layer), IsEmpty()) << tp << " " << cp;
    }
  }
}

TEST_P(Transformers, PlanFilesKeepThem) {
  const ModelSpec m = read_counted(GetParam());
  const JsonValue written = write_model(m);
  Diagnostics problems;
  const std::string file = "plan.json";
  const ModelSpec again = read_model(ObjectReader(written, "", {file, problems}));
  EXPECT_FALSE(problems.has_errors());
  EXPECT_EQ(again, m);
}

INSTANTIATE_TEST_SUITE_P(All, Transformers, ::testing::ValuesIn(kCounted),
                         [](const auto& info) { return std::string(info.param.name); });

HfImport read_text(const std::string& text) { return read_hf_config(text, "config.json", "m"); }

std::string refusal_of(const std::string& text) {
  try {
    static_cast<void>(read_text(text));
  } catch (const ConfigError& e) {
    return e.what();
  }
  return {};
}

const Counted& case_named(std::string_view name) {
  for (const Counted& c : kCounted) {
    if (c.name == name) return c;
  }
  return kCounted[0];
}

std::string config_with(const char* name, const std::string& from, const std::string& to) {
  std::string text = case_named(name).config;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Families, WhatIsNotToldIsLeftOutAloud) {
  const ModelSpec olmoe =
      read_text(config_with("olmoe", "\"clip_qkv\": null", "\"clip_qkv\": 8.0")).model;
  ASSERT_EQ(olmoe.left_out.size(), 1u);
  EXPECT_THAT(olmoe.left_out[0], HasSubstr("clip_qkv 8"));
  const ModelSpec phi =
      read_text(config_with("phimoe", "\"vocab_size\"", "\"lm_head_bias\": true, \"vocab_size\""))
          .model;
  EXPECT_THAT(phi.left_out.back(), HasSubstr("32064 parameters of the output projection"));
  const ModelSpec granite = read_text(config_with("granitemoe", "\"vocab_size\"",
                                                  "\"logits_scaling\": 6, \"vocab_size\""))
                                .model;
  ASSERT_EQ(granite.left_out.size(), 1u);
  EXPECT_THAT(granite.left_out[0], HasSubstr("logits_scaling 6"));
  const std::string shared =
      config_with("hunyuan_v1_moe", "\"vocab_size\"", "\"use_cla\": true, \"vocab_size\"");
  ASSERT_EQ(read_text(shared).model.left_out.size(), 2u);
  EXPECT_THAT(read_text(shared).model.left_out[0], HasSubstr("after their rotation"));
  EXPECT_THAT(read_text(shared).model.left_out[1], HasSubstr("use_cla"));
  const std::string biased =
      config_with("ernie4_5_moe", "\"use_bias\": false", "\"use_bias\": true");
  ASSERT_EQ(read_text(biased).model.left_out.size(), 1u);
  EXPECT_THAT(read_text(biased).model.left_out[0], HasSubstr("biases of MLPs"));
  EXPECT_TRUE(read_text(biased).model.attention.rope_interleaved);
  EXPECT_THAT(read_counted(case_named("glm4_moe")).left_out, IsEmpty());
}

TEST(Families, LayersThatDifferInExpertsAreRefused) {
  EXPECT_THAT(
      refusal_of(config_with("hunyuan_v1_moe", "\"moe_topk\": [8, 8]", "\"moe_topk\": [8, 4]")),
      HasSubstr("moe_topk: 8 in one layer and 4 in another"));
  EXPECT_THAT(
      refusal_of(config_with("jamba", "\"mamba_proj_bias\": false", "\"mamba_proj_bias\": true")),
      HasSubstr("mamba_proj_bias: true is not supported in this family"));
}

// Ling's code is not in transformers: sizes of the layers by hand.
TEST(Families, BailingMoe) {
  const std::string config = R"({"model_type": "bailing_moe", "hidden_size": 2048,
    "intermediate_size": 5120, "moe_intermediate_size": 512, "num_experts": 256,
    "num_shared_experts": 1, "num_experts_per_tok": 8, "num_hidden_layers": 20,
    "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "n_group": 8,
    "topk_group": 4, "norm_topk_prob": true, "first_k_dense_replace": 1, "use_qk_norm": true,
    "use_bias": false, "use_qkv_bias": false, "score_function": "sigmoid",
    "moe_router_enable_expert_bias": true, "routed_scaling_factor": 2.5, "vocab_size": 157184})";
  const ModelSpec m = read_text(config).model;
  const std::int64_t h = 2048;
  const std::int64_t attention = h * 128 * (16 + 4 + 4) + 16 * 128 * h + 2 * 128 + 2 * h;
  const std::int64_t experts = h * 256 + 257 * 3 * h * 512;
  EXPECT_EQ(count_parameters(m).total,
            20 * attention + 3 * h * 5120 + 19 * experts + 2 * 157184 * h + h);
  EXPECT_EQ(m.moe->score, RouterScore::sigmoid);
  EXPECT_TRUE(m.moe->expert_bias);
  EXPECT_EQ(m.moe->groups, 8);
}

// A family that nobody told us of, by its fields; what has no place among them is refused.
TEST(Families, AnUnknownOneIsReadByItsFields) {
  const HfImport known = read_text(case_named("glm4_moe").config);
  const HfImport other = read_text(config_with("glm4_moe", "\"glm4_moe\"", "\"glm9_moe\""));
  EXPECT_EQ(count_parameters(other.model).total, count_parameters(known.model).total);
  EXPECT_EQ(other.model.model_type, "glm9_moe");
  ASSERT_FALSE(other.assumptions.empty());
  EXPECT_EQ(
      other.assumptions[0],
      "model_type glm9_moe: not known; its fields are all of glm4_moe, whose code is assumed");
  EXPECT_THAT(
      refusal_of(config_with("glm4_moe", "\"glm4_moe\"", "\"glm9_moe\", \"expert_towers\": 2")),
      HasSubstr("its fields have no place for expert_towers"));
}

}  // namespace
}  // namespace pleat
