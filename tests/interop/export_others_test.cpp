// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exports to Megatron-Bridge, torchtitan and DeepSpeed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "interop/exported.hpp"
#include "tests/interop/export_samples.hpp"
#include "tests/interop/random_plans.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ExportBridge, WritesOverridesWithoutSizes) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.precision = Precision::mxfp8;
  d.plan.recompute = {Module::layernorm, Module::moe_act};
  d.plan.vpp = 2;
  d.plan.cuda_graph = CudaGraph::attention;
  d.plan.optimizer.exp_avg = DType::bf16;
  const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "model.tensor_model_parallel_size"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "mixed_precision"), ElementsAre("bf16_with_mxfp8_mixed"));
  EXPECT_THAT(values_of(e, "model.recompute_modules"), ElementsAre("[layernorm,moe_act]"));
  EXPECT_THAT(values_of(e, "model.virtual_pipeline_model_parallel_size"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "ddp.overlap_grad_reduce"), ElementsAre("true"));
  EXPECT_THAT(values_of(e, "model.cuda_graph_impl"), ElementsAre("transformer_engine"));
  EXPECT_THAT(values_of(e, "model.cuda_graph_modules"), ElementsAre("[attn]"));
  EXPECT_THAT(values_of(e, "model.hidden_size"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "optimizer.exp_avg_dtype"), ElementsAre("torch.bfloat16"));
  EXPECT_THAT(values_of(e, "optimizer.exp_avg_sq_dtype"), ElementsAre("torch.float32"));
  EXPECT_TRUE(e.missing.empty());
}

// Recipes set what a plan may not have: full recompute, offload, virtual stages, a layout.
TEST(ExportBridge, WhatARecipeSetsAndThePlanHasNotIsSetBack) {
  const Exported e = export_plan(Target::megatron_bridge, {sample("mixtral-8x7b")}, "plan");
  EXPECT_THAT(values_of(e, "model.recompute_granularity"), ElementsAre("null"));
  EXPECT_THAT(values_of(e, "model.recompute_method"), ElementsAre("null"));
  EXPECT_THAT(values_of(e, "model.virtual_pipeline_model_parallel_size"), ElementsAre("null"));
  EXPECT_THAT(values_of(e, "model.pipeline_model_parallel_layout"), ElementsAre("null"));
  EXPECT_THAT(values_of(e, "model.cuda_graph_impl"), ElementsAre("none"));
  EXPECT_THAT(values_of(e, "optimizer.main_grads_dtype"), ElementsAre("torch.float32"));
  std::map<std::string, int> times;
  for (const Setting& s : e.settings) EXPECT_EQ(++times[s.name], 1) << s.name;
}

TEST(ExportBridge, ExpertsAreBalancedAndNotForced) {
  PlanDocument d = sample("mixtral-8x7b");
  Exported e = export_plan(Target::megatron_bridge, {d}, "p");
  EXPECT_THAT(values_of(e, "model.moe_router_load_balancing_type"), ElementsAre("aux_loss"));
  EXPECT_THAT(values_of(e, "model.moe_aux_loss_coeff"), ElementsAre("0.01"));
  EXPECT_THAT(values_of(e, "model.moe_router_force_load_balancing"), ElementsAre("false"));
  d.model.moe->aux_loss = 0.02;
  d.model.moe->seq_aux_loss = 0.003;
  e = export_plan(Target::megatron_bridge, {d}, "p");
  EXPECT_THAT(values_of(e, "model.moe_router_load_balancing_type"),
              ElementsAre("[aux_loss,seq_aux_loss]"));
  EXPECT_THAT(values_of(e, "model.moe_aux_loss_coeff"), ElementsAre("[0.02,0.003]"));
}

TEST(ExportBridge, TheSizeOfBucketsSurvivesTheSetUpOfOverlap) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.ddp_bucket_size = 1 << 20;
  const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "ddp.bucket_size"), ElementsAre("1048576"));
  EXPECT_THAT(values_of(e, "++comm_overlap.bucket_size"), ElementsAre("1048576"));
}

// Hydra would read the layout's parentheses itself; the chunks are not counted in it there.
TEST(ExportBridge, LayoutsAreQuotedAndHaveTheirChunks) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.layout = "Et*4|(t*4|)*6t*4L";
  d.plan.vpp = 2;
  const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "model.pipeline_model_parallel_layout"),
              ElementsAre("\"Et*4|(t*4|)*6t*4L\""));
  EXPECT_THAT(values_of(e, "model.virtual_pipeline_model_parallel_size"), ElementsAre("2"));
  EXPECT_THAT(export_text(Target::megatron_bridge, e, "t"),
              HasSubstr("\n  'model.pipeline_model_parallel_layout=\"Et*4|(t*4|)*6t*4L\"'\n"));
}

TEST(ExportBridge, LlamaHoldsItsTransformerInAnObject) {
  PlanDocument d = sample("llama3-8b");
  d.plan.expert = {1, 1, 16};
  const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "model.transformer.tensor_model_parallel_size"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "model.tensor_model_parallel_size"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "model.seq_length"), ElementsAre("4096"));
}

// The set-up of comm_overlap would write its defaults over model.* and ddp.*.
TEST(ExportBridge, OverlapsReachTheRunOnAndOff) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 8};
  d.plan.sequence_parallel = false;
  d.plan.layout.clear();
  d.plan.vpp = 1;
  d.plan.overlap.expert_parallel = d.plan.overlap.delay_wgrad = true;
  d.plan.overlap.tensor_parallel = d.plan.overlap.shared_expert = false;
  Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "++comm_overlap.overlap_moe_expert_parallel_comm"), ElementsAre("true"));
  EXPECT_THAT(values_of(e, "++comm_overlap.delay_wgrad_compute"), ElementsAre("true"));
  EXPECT_THAT(values_of(e, "model.overlap_moe_expert_parallel_comm"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "++comm_overlap.tp_comm_overlap"), ElementsAre("false"));
  EXPECT_THAT(values_of(e, "comm_overlap"), ElementsAre("null"));  // a recipe may have none
  EXPECT_THAT(values_of(e, "++comm_overlap._target_"),
              ElementsAre("megatron.bridge.training.comm_overlap.CommOverlapConfig"));
  EXPECT_THAT(values_of(e, "++comm_overlap.overlap_grad_reduce"), ElementsAre("true"));
  d.plan.overlap = {};
  d.plan.overlap.grad_reduce = d.plan.overlap.param_gather = false;
  e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "++comm_overlap.overlap_moe_expert_parallel_comm"),
              ElementsAre("false"));
  for (const char* object : {"++comm_overlap.", "ddp."}) {
    EXPECT_THAT(values_of(e, std::string(object) + "overlap_grad_reduce"), ElementsAre("false"));
    EXPECT_THAT(values_of(e, std::string(object) + "overlap_param_gather"), ElementsAre("false"));
  }
}

TEST(ExportBridge, TheDatasetIsAsLongAsTheModel) {
  const PlanDocument d = sample("mixtral-8x7b");
  const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "dataset.sequence_length"),
              ElementsAre(std::to_string(d.workload.seq_len)));
  EXPECT_EQ(values_of(e, "model.seq_length"), values_of(e, "dataset.sequence_length"));
  EXPECT_EQ(values_of(e, "++dataset.seq_length"), values_of(e, "dataset.sequence_length"));
}

// A flag without an entry in the table of members would abort.
TEST(ExportBridge, EveryFlagHasAMember) {
  int exported = 0;
  for (const PlanDocument& d : random_documents(12, 23)) {
    try {
      const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
      for (const Setting& s : e.settings) EXPECT_EQ(s.values.size(), 1u) << s.name;
      ++exported;
    } catch (const ConfigError&) {
    }
  }
  EXPECT_GT(exported, 200);
}

TEST(ExportTitan, WritesArguments) {
  PlanDocument d = sample("llama3-8b");
  d.plan.attention = {.tp = 2, .cp = 2, .dp = 16, .pp = 1};
  d.plan.expert = {1, 1, 64};
  d.plan.cp_comm = CpComm::all_gather;
  d.plan.sharding = Sharding::zero3;
  d.plan.fsdp_group = 8;
  d.plan.recompute_full = true;
  const Exported e = export_plan(Target::torchtitan, {d}, "plan");
  EXPECT_THAT(values_of(e, "--module"), ElementsAre("llama3"));
  EXPECT_THAT(values_of(e, "--config"), ElementsAre("llama3_8b"));
  EXPECT_THAT(values_of(e, "--parallelism.data_parallel_shard_degree"), ElementsAre("4"));
  EXPECT_THAT(values_of(e, "--parallelism.data_parallel_replicate_degree"), ElementsAre("4"));
  EXPECT_EQ(e.settings.back().name, "activation-checkpoint:full");
  const std::string text = export_text(Target::torchtitan, e, "t");
  EXPECT_THAT(text, HasSubstr("TITAN_ARGS=(\n  --module llama3\n  --config llama3_8b\n"));
  EXPECT_THAT(text, HasSubstr("  --training.local_batch_size 1\n"));
  EXPECT_THAT(text, HasSubstr("# for torchtitan 0.3.0"));
}

// torchtitan 0.3.0, models/kimi_k2_7/config_registry.py: Muon; that of other models is AdamW.
TEST(ExportTitan, SaysWhereAConfigurationHasAnotherOptimizer) {
  PlanDocument d = sample("moonlight-16b-a3b");
  d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
  d.plan.expert = {1, 1, 64};
  d.plan.sharding = Sharding::zero3;
  const Exported e = export_plan(Target::torchtitan, {d}, "plan");
  ASSERT_EQ(e.missing.size(), 1u);
  EXPECT_EQ(e.missing[0].field, "plan.optimizer.kind");
  EXPECT_THAT(e.missing[0].text, HasSubstr("trains with Muon"));
  // Which torchtitan then refuses itself.
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 32, .pp = 1};
  try {
    static_cast<void>(export_plan(Target::torchtitan, {d}, "plan"));
    ADD_FAILURE() << "TP 2";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().path, "plan.attention.tp");
  }
}

TEST(ExportTitan, ModelsThatItDoesNotShipAreRefused) {
  for (const char* model : {"mixtral-8x7b", "llama2-70b", "kimi-k2", "qwen3-235b-a22b"}) {
    PlanDocument d = sample(model);
    d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
    d.plan.expert = {1, 1, 64};
    d.plan.sharding = Sharding::zero3;
    try {
      static_cast<void>(export_plan(Target::torchtitan, {d}, "plan"));
      ADD_FAILURE() << model;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.diagnostics().front().path, "model.name") << model;
      EXPECT_THAT(e.what(), HasSubstr("ships no configuration of this model"));
    }
  }
}

// Run as exported, they would take other time and memory than the plan says.
TEST(ExportOthers, RecomputeOfSomeLayersIsRefused) {
  PlanDocument d = sample("llama3-8b");
  d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
  d.plan.expert = {1, 1, 64};
  d.plan.sharding = Sharding::zero3;
  d.plan.sequence_parallel = false;
  d.plan.recompute_full = true;
  for (const Target target : {Target::torchtitan, Target::deepspeed}) {
    PlanDocument part = d, unit = d;
    part.plan.recompute_layers = 16;
    unit.plan.recompute_unit = 2;
    EXPECT_NO_THROW((void)export_plan(target, {d}, "plan"));
    EXPECT_THROW((void)export_plan(target, {part}, "plan"), ConfigError);
    EXPECT_THROW((void)export_plan(target, {unit}, "plan"), ConfigError);
  }
}

TEST(ExportTitan, SplitsLayersAsThePlanDoes) {
  PlanDocument d = sample("llama3-8b");  // 32 layers
  d.plan.expert = {1, 1, 16};
  d.plan.sharding = Sharding::none;
  d.plan.vpp = 2;
  Exported e = export_plan(Target::torchtitan, {d}, "plan");
  EXPECT_THAT(values_of(e, "--parallelism.pipeline_parallel_layers_per_stage"), ElementsAre("4"));
  EXPECT_THAT(values_of(e, "--parallelism.pipeline_parallel_first_stage_less_layers"),
              ElementsAre("0"));
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 2, .pp = 16};  // 32 layers in 17 to 34 places
  d.plan.expert = {1, 1, 4};
  d.plan.vpp = 1;
  d.plan.layout = "Et*2|(t*2|)*14tL";
  EXPECT_THROW(static_cast<void>(export_plan(Target::torchtitan, {d}, "p")), ConfigError);
}

TEST(ExportTitan, NamesSchedules) {
  PlanDocument d = sample("llama3-8b");
  d.plan.expert = {1, 1, 16};
  d.plan.sharding = Sharding::none;
  d.plan.vpp = 2;
  const auto schedule = [&] {
    return values_of(export_plan(Target::torchtitan, {d}, "plan"),
                     "--parallelism.pipeline_parallel_schedule");
  };
  EXPECT_THAT(schedule(), ElementsAre("Interleaved1F1B"));
  d.plan.schedule = PipelineSchedule::zb_v;
  EXPECT_THAT(schedule(), ElementsAre("ZBVZeroBubble"));
  d.plan.schedule = PipelineSchedule::dualpipe_v;
  EXPECT_THAT(schedule(), ElementsAre("DualPipeV"));
  d.plan.schedule = PipelineSchedule::zb_h1;
  d.plan.vpp = 1;
  EXPECT_THROW(static_cast<void>(export_plan(Target::torchtitan, {d}, "p")), ConfigError);
}

TEST(ExportTitan, RoutesAsARunDoesAndSaysHowExpertsAreBalanced) {
  PlanDocument d = sample("qwen3-30b-a3b");
  d.gpus = 16;
  d.plan.attention = {.tp = 1, .cp = 1, .dp = 16, .pp = 1};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 2};
  d.plan.sequence_parallel = false;
  d.plan.sharding = Sharding::zero3;
  const Exported e = export_plan(Target::torchtitan, {d}, "plan");
  EXPECT_THAT(values_of(e, "--debug.moe_force_load_balance"), ElementsAre("absent"));
  EXPECT_THAT(e.notes, Contains(HasSubstr("load_balance_coeff")));
}

TEST(ExportTitan, RefusesOptimizerShardingAlone) {
  EXPECT_THROW(static_cast<void>(export_plan(Target::torchtitan, {sample("llama3-8b")}, "p")),
               ConfigError);
}

TEST(ExportDeepSpeed, WritesJson) {
  PlanDocument d = sample("mixtral-8x7b");
  d.gpus = 16;
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 8, .pp = 1};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 2};
  d.plan.sharding = Sharding::zero2;
  const Exported e = export_plan(Target::deepspeed, {d}, "plan");
  const JsonValue root = parse_json(export_text(Target::deepspeed, e, "t"), "ds");
  EXPECT_EQ(*root.find("train_batch_size")->as_integer(), 512);  // ranks of TP count, too
  EXPECT_EQ(*root.find("gradient_accumulation_steps")->as_integer(), 32);
  EXPECT_EQ(*root.find("zero_optimization")->find("stage")->as_integer(), 2);
  EXPECT_EQ(*root.find("bf16")->find("enabled")->as_bool(), true);
  EXPECT_EQ(*root.find("expert_parallel")->find("autoep_size")->as_integer(), 8);
  EXPECT_EQ(*root.find("expert_parallel")->find("preset_model")->as_string(), "mixtral");
  EXPECT_EQ(*root.find("communication_data_type")->as_string(), "fp32");
  EXPECT_THAT(e.notes, Contains(HasSubstr("router_aux_loss_coef")));  // the balance loss
  d.plan.sharding = Sharding::zero3;
  d.plan.fsdp_group = 4;  // MiCS is no more
  EXPECT_THROW(static_cast<void>(export_plan(Target::deepspeed, {d}, "p")), ConfigError);
  d.plan.fsdp_group = 0;
  d.plan.optimizer.grad_reduce = DType::bf16;
  const Exported groups = export_plan(Target::deepspeed, {d}, "plan");
  EXPECT_THAT(values_of(groups, "communication_data_type"), ElementsAre("\"bf16\""));
  d.plan.optimizer.cpu_offload = 0.25;  // a part is ZeRO-3's; not beside experts and TP
  EXPECT_THROW(static_cast<void>(export_plan(Target::deepspeed, {d}, "p")), ConfigError);
  d.plan.attention = {.tp = 1, .cp = 1, .dp = 16, .pp = 1};
  const Exported host = export_plan(Target::deepspeed, {d}, "plan");
  EXPECT_THAT(values_of(host, "zero_optimization.offload_optimizer.device"),
              ElementsAre("\"cpu\""));
  EXPECT_THAT(values_of(host, "zero_optimization.offload_optimizer.ratio"), ElementsAre("0.25"));
  d.plan.sharding = Sharding::zero2;
  EXPECT_THROW(static_cast<void>(export_plan(Target::deepspeed, {d}, "p")), ConfigError);
  d.plan.optimizer.cpu_offload = 0;
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 4, .pp = 2};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 1};
  d.plan.sharding = Sharding::zero1;
  EXPECT_THROW(static_cast<void>(export_plan(Target::deepspeed, {d}, "p")), ConfigError);
}

TEST(ExportDeepSpeed, FamiliesWithoutAPresetAreRefusedWhereExpertsSpread) {
  for (const char* model : {"gpt-oss-20b", "llama4-scout"}) {
    PlanDocument d = sample(model);
    d.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 1};
    d.plan.expert = {.etp = 1, .ep = 8, .edp = 8};
    try {
      static_cast<void>(export_plan(Target::deepspeed, {d}, "p"));
      ADD_FAILURE() << model;
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.diagnostics().front().path, "model.model_type");
    }
    d.plan.expert = {.etp = 1, .ep = 1, .edp = 64};
    EXPECT_NO_THROW(static_cast<void>(export_plan(Target::deepspeed, {d}, "p")));
  }
}

// The other targets write or refuse every legal plan, too.
TEST(ExportOthers, NeverCrash) {
  std::map<Target, int> exported;
  for (const PlanDocument& d : random_documents(40, 31)) {
    for (const Target target : {Target::torchtitan, Target::deepspeed}) {
      try {
        const Exported e = export_plan(target, {d}, "plan");
        EXPECT_FALSE(export_text(target, e, "t").empty());
        ++exported[target];
      } catch (const ConfigError& e) {
        EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
      }
    }
  }
  EXPECT_GT(exported[Target::torchtitan], 3);  // of the few models that it ships
  EXPECT_GT(exported[Target::deepspeed], 10);
}

}  // namespace
}  // namespace pleat::interop_test
