// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Weights by our names out of Hugging Face's and back.
#include "backend/checkpoint/hf_weights.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "backend/init.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "tests/backend/checkpoint/temporary_folder.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

ModelSpec model_of(ModelSpec m, const std::string& type) {
  m.model_type = type;
  return m;
}
ModelSpec moe() { return model_of(test::small_moe(), "qwen2_moe"); }
ModelSpec mla() { return model_of(test::small_mla(), "deepseek_v3"); }

// A tensor of the file with so many fp32 values, 0, 1, 2, ….
TensorEntry counted(const std::string& name, std::vector<std::int64_t> shape) {
  return {name, ElementType::f32, std::move(shape), 0, 0};
}
void count(const TensorEntry& t, std::span<std::byte> out) {
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(out.data() + 4 * i, &value, 4);
  }
}

// The tensors that an export of the model has.
std::vector<TensorEntry> tensors_of(const ModelSpec& m) {
  std::vector<TensorEntry> tensors;
  for (const HfWeight& weight : hf_weight_map(m)) {
    for (const HfRows& rows : weight.parts) {
      tensors.push_back(counted(rows.places[0].tensor, rows.places[0].shape));
    }
  }
  return tensors;
}

bool has_any(const std::string& name, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& p) { return name.find(p) != std::string::npos; });
}

std::string problem_of(const std::string& folder, const ModelSpec& m) {
  try {
    const HfWeights weights(folder, m);
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    return e.what();
  }
  return "accepted";
}

// Families that are trained, and whose weights would mean something else in transformers.
TEST(HfWeights, SaysWhatKeepsAFamilyFromIt) {
  const auto refusal = [](const ModelSpec& m) -> std::string {
    try {
      (void)hf_weight_map(m);
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(model_of(moe(), "hunyuan_v1_moe")),
              HasSubstr("model_type: weights of \"hunyuan_v1_moe\" are neither read nor written: "
                        "it norms heads after their rotation, Pleat before it"));
  for (const char* family : {"gpt2", "nemotron", "gpt_oss", "llama4_text", "minimax_m2", "phimoe",
                             "granitemoe", "granitemoeshared", "dbrx", "olmoe", "grok-1"}) {
    EXPECT_THAT(refusal(model_of(moe(), family)), HasSubstr("are neither read nor written: "));
  }
  ModelSpec biased = model_of(moe(), "ernie4_5_moe");
  biased.attention.qkv_bias = true;
  EXPECT_THAT(refusal(biased), HasSubstr("use_bias: MLPs and experts have biases there"));
}

TEST(HfWeights, TheMapHasEveryWeightOfTheProgram) {
  ModelSpec biased = moe();
  biased.attention.qk_norm = biased.attention.qkv_bias = biased.attention.out_bias = true;
  biased.moe->shared_gate = true;
  ModelSpec direct = mla();
  direct.attention.q_lora_rank = 0;
  ModelSpec tied = moe(), deep = mla();
  tied.tied_embeddings = true;
  deep.mtp_layers = 1;
  ModelSpec balanced = moe();
  balanced.moe->expert_bias = true;
  for (const ModelSpec& m :
       {moe(), biased, mla(), direct, tied, deep, model_of(test::small_moe(), "mixtral"),
        model_of(balanced, "glm4_moe"), model_of(balanced, "dots1"),
        model_of(balanced, "ernie4_5_moe")}) {
    const Program program = compile(m, test::small_workload(), test::fp32_plan(), Runtime::pleat);
    std::map<std::string, std::int64_t> ours, mapped;
    for (const LayerInstance& instance : program.stages[0].chunks[0].instances) {
      const LayerProgram& layer = program.stages[0].program(instance);
      for (const Weight& w : layer.weights) {
        for (const NamedPart& p : named_parts(layer, instance, w, {})) ours[p.name] = p.whole;
      }
    }
    for (const HfWeight& w : hf_weight_map(m)) mapped[w.name] = w.elements();
    EXPECT_EQ(mapped, ours);
  }
}

// Bug: experts in lexicographic order, 0 1 10 11 2 … (pytorch/torchtitan#1918).
TEST(HfWeights, TwelveExpertsKeepTheirNumbers) {
  ModelSpec m = moe();
  m.moe->experts = 12;
  std::set<std::string> seen;
  for (const HfWeight& w : hf_weight_map(m)) {
    const std::size_t at = w.name.find("experts.");
    if (at == std::string::npos || w.name.find("shared") != std::string::npos) continue;
    const std::string expert =
        w.name.substr(at, w.name.find('.', at + 8) + 1 - at);  // "experts.10."
    for (const HfRows& rows : w.parts) {
      EXPECT_THAT(rows.places[0].tensor, HasSubstr("." + expert)) << w.name;
    }
    seen.insert(expert);
  }
  EXPECT_EQ(seen.size(), 12U);
}

TEST(HfWeights, ExportReadsBackToTheBit) {
  for (const ModelSpec& m : {moe(), mla()}) {
    const TemporaryFolder folder;
    const auto fill = [](const std::string& name, std::span<float> out) {
      fill_normal(name, 5, 0, out);
    };
    export_hf_weights(folder.path(), m, {.shard_bytes = 20'000}, fill);
    EXPECT_TRUE(std::filesystem::exists(folder / "model.safetensors.index.json"));
    const HfWeights weights(folder.path(), m);
    for (const HfWeight& w : hf_weight_map(m)) {
      std::vector<float> actual(static_cast<std::size_t>(w.elements())), expected = actual;
      weights.read(w.name, actual);
      fill(w.name, expected);
      EXPECT_EQ(actual, expected) << w.name;
    }
  }
}

TEST(HfWeights, PackedRowsComeFromTheirTensors) {
  const TemporaryFolder folder;
  write_weight_folder(folder.path(), tensors_of(moe()), 1 << 30, count);
  const HfWeights weights(folder.path(), moe());
  std::vector<float> qkv(64 * 32), fc1(48 * 32);
  weights.read("layers.2.qkv", qkv);  // 32 rows of q, 16 of k, 16 of v
  EXPECT_EQ(qkv[32 * 32 - 1], 1023);
  EXPECT_EQ(qkv[32 * 32], 0);
  EXPECT_EQ(qkv[48 * 32 + 33], 33);
  weights.read("layers.1.experts.7.fc1", fc1);  // 24 rows of gate, 24 of up
  EXPECT_EQ(fc1[24 * 32 - 1], 767);
  EXPECT_EQ(fc1[24 * 32 + 1], 1);
}

// A prediction depth is one layer more; without one such a layer is left out.
TEST(HfWeights, ThePredictionDepthIsTheLayerAfterTheLast) {
  ModelSpec m = mla();
  m.mtp_layers = 1;
  const TemporaryFolder folder;
  write_weight_folder(folder.path(), tensors_of(m), 1 << 30, count);
  EXPECT_NE(WeightFolder(folder.path()).find("model.layers.4.eh_proj.weight").entry, nullptr);
  std::vector<float> proj(32 * 64);
  HfWeights(folder.path(), m).read("mtp.proj", proj);
  EXPECT_EQ(proj[65], 65);
  EXPECT_EQ(problem_of(folder.path(), mla()), "accepted");
}

TEST(HfWeights, FusedTensorsAreSplit) {
  std::vector<TensorEntry> tensors;
  for (TensorEntry& t : tensors_of(moe())) {
    const bool expert = t.name.find(".experts.") != std::string::npos;
    const bool qkv = has_any(t.name, {"q_proj", "k_proj", "v_proj"});
    const bool dense = has_any(t.name, {"layers.0.mlp.gate_proj", "layers.0.mlp.up_proj"});
    if (!expert && !qkv && !dense) tensors.push_back(t);
  }
  tensors.push_back(counted("model.layers.0.mlp.gate_up_proj.weight", {96, 32}));
  for (int l = 0; l < 4; ++l) {
    const std::string layer = "model.layers." + std::to_string(l) + ".";
    tensors.push_back(counted(layer + "self_attn.qkv_proj.weight", {64, 32}));
    if (l == 0) continue;
    tensors.push_back(counted(layer + "mlp.experts.gate_up_proj", {8, 48, 32}));
    tensors.push_back(counted(layer + "mlp.experts.down_proj", {8, 32, 24}));
  }
  const TemporaryFolder folder;
  write_weight_folder(folder.path(), tensors, 1 << 30, count);
  const HfWeights weights(folder.path(), moe());
  const auto expect_from = [&](const std::string& name, std::size_t elements, float first) {
    std::vector<float> values(elements);
    weights.read(name, values);
    for (std::size_t i = 0; i < elements; ++i)
      ASSERT_EQ(values[i], first + static_cast<float>(i)) << name;
  };
  expect_from("layers.3.qkv", 64 * 32, 0);
  expect_from("layers.0.fc1", 96 * 32, 0);
  expect_from("layers.1.experts.3.fc1", 48 * 32, 3 * 48 * 32);
  expect_from("layers.1.experts.3.fc2", 32 * 24, 3 * 32 * 24);
}

TEST(HfWeights, Fp8IsScaledByItsBlocks) {
  ModelSpec m = test::small_moe();
  m.model_type = "llama";
  m.moe.reset();
  m.moe_layer.assign(4, false);
  m.ffn = 200;  // down_proj [32, 200]: blocks of 128 columns
  std::vector<TensorEntry> tensors = tensors_of(m);
  const std::string scaled = "model.layers.1.mlp.down_proj.weight";
  for (TensorEntry& t : tensors) {
    if (t.name == scaled) t.type = ElementType::f8_e4m3;
  }
  tensors.push_back(counted(scaled + "_scale_inv", {1, 2}));
  const TemporaryFolder folder;
  write_weight_folder(folder.path(), tensors, 1 << 30,
                      [&](const TensorEntry& t, std::span<std::byte> out) {
                        if (t.type == ElementType::f8_e4m3) {
                          std::memset(out.data(), 0x3c, out.size());  // 1.5
                        } else if (t.name == scaled + "_scale_inv") {
                          const float scales[] = {2, 0.5F};
                          std::memcpy(out.data(), scales, 8);
                        } else {
                          count(t, out);
                        }
                      });
  std::vector<float> fc2(32 * 200);
  HfWeights(folder.path(), m).read("layers.1.fc2", fc2);
  EXPECT_EQ(fc2[127], 3);
  EXPECT_EQ(fc2[128], 0.75F);
  EXPECT_EQ(fc2[200], 3);
}

TEST(HfWeights, TiedTablesAreWrittenOnce) {
  ModelSpec m = moe();
  m.tied_embeddings = true;
  const TemporaryFolder folder;
  export_hf_weights(folder.path(), m, {}, [](const std::string& name, std::span<float> out) {
    fill_normal(name, 5, 0, out);
  });
  EXPECT_EQ(WeightFolder(folder.path()).find("lm_head.weight").entry, nullptr);
  const HfWeights weights(folder.path(), m);
  std::vector<float> table(64 * 32);
  weights.read("embedding", table);
  EXPECT_NE(table[0], 0);
  EXPECT_THAT(problem_of(folder.path(), moe()), HasSubstr("has no lm_head.weight"));
}

TEST(HfWeights, WhatDoesNotFitIsNamed) {
  const auto problem = [](auto change) {
    std::vector<TensorEntry> tensors = tensors_of(moe());
    change(tensors);
    const TemporaryFolder folder;
    write_weight_folder(folder.path(), tensors, 1 << 30, count);
    return problem_of(folder.path(), moe());
  };
  const auto find = [](std::vector<TensorEntry>& tensors, const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(), [&](auto& t) { return t.name == name; });
  };
  EXPECT_EQ(problem([](auto&) {}), "accepted");
  EXPECT_THAT(
      problem([&](auto& t) { t.erase(find(t, "model.layers.1.mlp.experts.2.up_proj.weight")); }),
      HasSubstr("has no model.layers.1.mlp.experts.2.up_proj.weight"));
  EXPECT_THAT(problem([&](auto& t) { find(t, "model.norm.weight")->shape = {31}; }),
              HasSubstr("model.norm.weight: has shape [31], the model needs [32]"));
  EXPECT_THAT(problem([&](auto& t) { find(t, "model.norm.weight")->type = ElementType::i32; }),
              HasSubstr("has type I32"));
  EXPECT_THAT(
      problem([](auto& t) { t.push_back(counted("model.layers.0.self_attn.q_proj.bias", {32})); }),
      HasSubstr("no place for model.layers.0.self_attn.q_proj.bias"));
  EXPECT_EQ(problem([](auto& t) { t.push_back(counted("model.layers.4.eh_proj.weight", {32})); }),
            "accepted");
}

TEST(HfWeights, AnIndexPointsIntoItsFolderOnly) {
  const TemporaryFolder folder;
  write_weight_folder(folder.path(), tensors_of(moe()), 20'000, count);
  const std::string path = folder / "model.safetensors.index.json";
  const std::string text = read_text_file(path);
  const std::string shard = "model-00001-of-";
  for (const std::string& bad : {std::string("../") + shard, std::string("/etc/") + shard}) {
    std::string changed = text;
    changed.replace(changed.find(shard), shard.size(), bad);
    test::write_bytes(path, changed);
    EXPECT_THAT(problem_of(folder.path(), moe()), HasSubstr("in this folder"));
  }
}

TEST(HfWeights, UnknownFamiliesAreRefused) {
  EXPECT_THROW((void)hf_weight_map(model_of(test::small_moe(), "gpt2")), ConfigError);
}

}  // namespace
}  // namespace pleat
