// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Models in Megatron-LM's flags, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/diagnostics.hpp"
#include "core/plan/resolved_model.hpp"
#include "interop/megatron_import.hpp"
#include "tests/interop/export_samples.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(RoundTrip, EveryExportedModelComesBack) {
  const FlagTable table = load_flag_table();
  std::set<std::string> refused;
  int equal = 0;
  for (const std::string& name : config_names(ConfigKind::model)) {
    PlanDocument d = sample(name);
    const auto is_variant = [](const LayerTraits& t) {
      return t.sparse || t.mixer == Mixer::gated_delta_net;
    };
    if (std::ranges::any_of(d.model.layer_traits, is_variant))
      d.model.mtp_layers = 0;  // refused beside these
    d.gpus = 8;
    d.workload.seq_len = 1024;  // within the smallest table of positions
    d.plan = Plan{};
    d.plan.attention.dp = 8;
    d.plan.expert.edp = 8;
    Exported e;
    try {
      e = export_plan(Target::megatron, {d}, name);
    } catch (const ConfigError&) {
      refused.insert(name);
      continue;
    }
    ModelSpec back = import_arguments(read_back(e, table).values, 8, name).document.model;
    ModelSpec want = d.model;
    back.name = want.name;
    back.model_type = want.model_type;
    // Remarks say what is lost.
    for (const Remark& r : e.missing) {
      if (r.field == "model.moe.normalize_top_k")
        want.moe->normalize_top_k = back.moe->normalize_top_k;
      if (r.field == "model.moe.latent_norm") want.moe->latent_norm = false;
      if (r.field == "model.moe.router_bias") want.moe->router_bias = false;
      if (r.field == "model.attention.rope_scaling") want.attention.rope_scaling = {};
      if (r.field == "model.attention.rope_scaling.beta_fast")
        want.attention.rope_scaling.beta_fast = back.attention.rope_scaling.beta_fast;
      if (r.field == "model.attention.wide_qk_norm")
        want.attention.qk_norm = want.attention.wide_qk_norm = false;
      if (r.field == "model.mtp_traits") want.mtp_traits = back.mtp_traits;
    }
    if (want.ffn == 0) want.ffn = back.ffn;  // nothing is that wide
    if (want.mtp_layers == 0) want.mtp_traits = back.mtp_traits;
    const auto& a = want.attention;
    if (a.kind == AttentionKind::gqa && a.rotary_dim == a.head_dim) want.attention.rotary_dim = 0;
    if (want.learned_positions > 0) want.attention.rope_theta = back.attention.rope_theta;
    EXPECT_EQ(write_model(back).dump(), write_model(want).dump()) << name;
    EXPECT_TRUE(back == want) << name;
    equal += back == want;
  }
  EXPECT_GT(equal, 60);
  EXPECT_THAT(refused, Contains("deepseek-v4-pro"));
  EXPECT_THAT(refused, Contains("nemotron-h-56b"));
  EXPECT_THAT(refused, Not(Contains("deepseek-v3")));
  EXPECT_THAT(refused, Not(Contains("qwen3-next-80b-a3b")));
}

// DeepSeek and Kimi would train with factor 1 without these: latent attention has YaRN anyway.
TEST(ExportModel, YarnHasItsFlags) {
  const auto said = [](const char* model) {
    PlanDocument d = sample(model);
    d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
    d.plan.expert.edp = 8;
    return export_plan(Target::megatron, {d}, "p");
  };
  Exported e = said("deepseek-v3");
  EXPECT_THAT(values_of(e, "--position-embedding-type"), ElementsAre("rope"));
  EXPECT_THAT(values_of(e, "--rope-type"), ElementsAre("yarn"));
  EXPECT_THAT(values_of(e, "--rotary-scaling-factor"), ElementsAre("40"));
  EXPECT_THAT(values_of(e, "--mscale"), ElementsAre("1"));
  EXPECT_THAT(values_of(e, "--mscale-all-dim"), ElementsAre("1"));
  EXPECT_TRUE(e.missing.empty());
  e = said("kimi-k2");  // another beta_fast, which has no flag
  EXPECT_THAT(values_of(e, "--rotary-scaling-factor"), ElementsAre("32"));
  ASSERT_EQ(e.missing.size(), 1u);
  EXPECT_EQ(e.missing[0].field, "model.attention.rope_scaling.beta_fast");
  e = said("gpt-oss-20b");
  EXPECT_THAT(values_of(e, "--position-embedding-type"), ElementsAre("yarn"));
  EXPECT_THAT(values_of(e, "--rotary-scaling-factor"), ElementsAre("32"));
  EXPECT_THAT(values_of(e, "--mscale-all-dim"), ElementsAre("0"));
  EXPECT_THAT(values_of(e, "--yarn-original-max-position-embeddings"), ElementsAre("4096"));
  EXPECT_THAT(values_of(e, "--no-yarn-correction-range-round-to-int"), IsEmpty());
  e = said("moonlight-16b-a3b");  // plain positions are YaRN's of factor 1
  EXPECT_THAT(values_of(e, "--rotary-scaling-factor"), ElementsAre("absent"));
}

TEST(ExportModel, PredictionLayersExcludeAttentionOfOtherKinds) {
  for (const char* model : {"deepseek-v3.2", "glm-5"}) {
    PlanDocument d = sample(model);
    d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
    d.plan.expert.edp = 8;
    try {
      static_cast<void>(export_plan(Target::megatron, {d}, "p"));
      ADD_FAILURE() << model;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.diagnostics().front().path, "model.mtp_layers") << model;
    }
    EXPECT_NO_THROW(static_cast<void>(export_plan(Target::megatron_bridge, {d}, "p"))) << model;
    d.model.mtp_layers = 0;
    EXPECT_NO_THROW(static_cast<void>(export_plan(Target::megatron, {d}, "p"))) << model;
  }
}

// No shipped model has these and is one that Megatron-LM can run.
TEST(ExportModel, LatentExpertsAndHyperConnections) {
  PlanDocument d = sample("mixtral-8x7b");
  d.model.moe->latent = 1024;
  d.model.residual_streams = 4;
  EXPECT_THROW(static_cast<void>(export_plan(Target::megatron, {d}, "p")), ConfigError);  // PP 4
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 32, .pp = 1};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 8};
  const Exported e = export_plan(Target::megatron, {d}, "p");
  EXPECT_THAT(values_of(e, "--moe-latent-size"), ElementsAre("1024"));
  EXPECT_THAT(values_of(e, "--enable-mhc-connections"), IsEmpty());
  EXPECT_THAT(values_of(e, "--mhc-num-residual-streams"), ElementsAre("4"));
  const ImportedRun run = import_arguments(read_back(e, load_flag_table()).values, d.gpus, "args");
  EXPECT_EQ(run.document.model.moe->latent, 1024);
  EXPECT_EQ(run.document.model.residual_streams, 4);
}

TEST(ImportModel, SizesOutOfRangeAreNamed) {
  const Exported e = export_plan(Target::megatron, {sample("mixtral-8x7b")}, "p");
  const Arguments good = read_back(e, load_flag_table()).values;
  for (const auto& [member, value] : std::vector<std::pair<std::string, std::string>>{
           {"moe_router_topk", "9"},
           {"num_attention_heads", "200000000"},
           {"num_layers", "100000"},
           {"hidden_size", "0"},
           {"micro_batch_size", "-1"},
           {"rotary_percent", "-2"},
           {"moe_layer_freq", "[1]*33"},
           {"pipeline_model_parallel_layout", "(t*1000000000)*1000000000"},
           {"window_size", "(2147483647,0)"},
           {"cp_comm_type", "pigeon"}}) {
    Arguments bad = good;
    bad[member] = {value};
    if (member == "cp_comm_type") bad["context_parallel_size"] = {"2"};
    EXPECT_THROW(static_cast<void>(import_arguments(bad, 64, "args")), ConfigError) << member;
  }
  EXPECT_NO_THROW(static_cast<void>(import_arguments(good, 64, "args")));
}

}  // namespace
}  // namespace pleat::interop_test
