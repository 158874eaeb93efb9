// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exports against the tables of Megatron-LM's flags and checks, and back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/interop/exported.hpp"
#include "cli/interop/field_paths.hpp"
#include "cli/interop/megatron_import.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/constraints.hpp"
#include "tests/cli/interop/export_samples.hpp"
#include "tests/cli/interop/megatron_rules.hpp"
#include "tests/cli/interop/random_plans.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Target kTargets[] = {Target::megatron, Target::megatron_bridge, Target::torchtitan,
                               Target::deepspeed};

TEST(ExportTables, EveryFieldOfAPlanIsHandledOnceByEveryTarget) {
  PlanDocument d = sample("mixtral-8x7b");
  std::set<std::string> fields;
  for (const auto& [path, value] : exported_fields(d)) fields.insert(path);
  ASSERT_GT(fields.size(), 40u);
  for (const Target target : kTargets) {
    std::multiset<std::string> handled;
    for (const FieldRule& rule : field_rules(target)) {
      handled.insert(rule.path);
      EXPECT_NE(rule.write == nullptr, rule.implied == nullptr) << rule.path;
      EXPECT_TRUE(fields.count(rule.path)) << rule.path << " is no field of a plan";
    }
    for (const std::string& path : fields)
      EXPECT_EQ(handled.count(path), 1u) << path << ", target " << static_cast<int>(target);
  }
}

TEST(ExportTables, FlagsAreThoseOfTheStatedVersion) {
  const FlagTable table = load_flag_table();
  EXPECT_EQ(table.flags.size(), 865u);
  EXPECT_THAT(table.version, HasSubstr("d98e8a64dd"));
  EXPECT_EQ(table.flags.at("--disable-bias-linear").dest, "add_bias_linear");
  EXPECT_EQ(table.flags.at("--disable-bias-linear").type, FlagType::off);
  EXPECT_THAT(table.flags.at("--moe-token-dispatcher-type").choices,
              ElementsAre("allgather", "alltoall", "flex"));
}

TEST(ExportMegatron, WritesAPlan) {
  PlanDocument d = sample("deepseek-v3");
  d.plan.layout = "Et*15|t*16|t*16|t*14mL";
  d.plan.dispatcher = Dispatcher::deepep;
  d.plan.dispatcher_sms = 24;
  d.plan.precision = Precision::fp8_block;
  d.plan.recompute = {Module::mla_up_proj, Module::moe_act};
  d.plan.optimizer.exp_avg = DType::bf16;
  const Exported e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--tensor-model-parallel-size"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "--expert-tensor-parallel-size"), ElementsAre("1"));
  EXPECT_THAT(values_of(e, "--pipeline-model-parallel-layout"),
              ElementsAre("Et*15|t*16|t*16|t*14mL"));
  EXPECT_THAT(values_of(e, "--moe-token-dispatcher-type"), ElementsAre("flex"));
  EXPECT_THAT(values_of(e, "--moe-flex-dispatcher-num-sms"), ElementsAre("24"));
  EXPECT_THAT(values_of(e, "--fp8-recipe"), ElementsAre("blockwise"));
  EXPECT_THAT(values_of(e, "--fp8-param-gather"), ElementsAre("absent"));  // bf16 for blocks
  EXPECT_THAT(values_of(e, "--recompute-modules"), ElementsAre("mla_up_proj", "moe_act"));
  EXPECT_THAT(values_of(e, "--moe-layer-freq"), ElementsAre("([0]*3+[1]*58)"));
  EXPECT_THAT(values_of(e, "--use-precision-aware-optimizer"), IsEmpty());
  EXPECT_THAT(values_of(e, "--exp-avg-dtype"), ElementsAre("bf16"));
  EXPECT_THAT(values_of(e, "--sequence-parallel"), IsEmpty());
  EXPECT_THAT(e.environment,
              ElementsAre(std::pair<std::string, std::string>{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}));
  EXPECT_THAT(export_plan(Target::megatron, {d, false}, "").environment, IsEmpty());  // Blackwell
}

TEST(ExportMegatron, SaysWhatHasNoCounterpart) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.precision = Precision::fp8;
  d.plan.fp8_attention = true;
  const Exported e = export_plan(Target::megatron, {d}, "plan.json");
  ASSERT_EQ(e.missing.size(), 1u);
  EXPECT_EQ(e.missing[0].field, "plan.fp8_attention");
  EXPECT_THAT(export_text(Target::megatron, e, "t"),
              HasSubstr("# no counterpart: plan.fp8_attention = true: no flag"));
}

struct Refused {
  const char* path;
  void (*change)(PlanDocument&);
};

TEST(ExportMegatron, RefusesWhatItCannotRun) {
  const Refused cases[] = {
      {"plan.optimizer.main_params",
       [](PlanDocument& d) { d.plan.optimizer.main_params = DType::bf16; }},
      {"plan.optimizer",
       [](PlanDocument& d) {
         d.plan.optimizer.exp_avg = DType::bf16;
         d.plan.sharding = Sharding::none;
       }},
      {"plan.overlap.param_gather", [](PlanDocument& d) { d.plan.overlap.grad_reduce = false; }},
      {"plan.recompute",
       [](PlanDocument& d) {
         d.plan.precision = Precision::fp8_delayed;
         d.plan.recompute = {Module::layernorm};
       }},
      {"plan.fp8_head",
       [](PlanDocument& d) {
         d.plan.precision = Precision::fp8;
         d.plan.fp8_head = true;
       }},
      {"runtime", [](PlanDocument& d) { d.runtime = Runtime::pleat; }},
      {"plan.sequence_parallel",
       [](PlanDocument& d) {
         d.plan.sequence_parallel = false;
         d.plan.expert = {.etp = 1, .ep = 1, .edp = 16};
       }},
  };
  for (const Refused& r : cases) {
    PlanDocument d = sample("mixtral-8x7b");
    r.change(d);
    try {
      static_cast<void>(export_plan(Target::megatron, {d}, "p.json"));
      ADD_FAILURE() << r.path << " was not refused";
    } catch (const ConfigError& e) {
      EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
      EXPECT_EQ(e.diagnostics().front().path, r.path);
      EXPECT_THAT(e.what(), HasSubstr("Megatron-LM cannot run this"));
    }
  }
}

// Hundreds of legal plans over every shipped model: what is exported is known to Megatron-LM, has
// the right types and choices, and breaks none of its checks.
TEST(ExportMegatron, RandomPlansPassMegatronsOwnChecks) {
  const FlagTable table = load_flag_table();
  std::map<std::string, int> exercised;
  int exported = 0, refused = 0;
  for (const PlanDocument& d : random_documents(50, 7)) {
    const bool hopper = d.cluster == "h100-sxm";
    Exported e;
    try {
      e = export_plan(Target::megatron, {d, hopper}, "plan");
    } catch (const ConfigError&) {
      ++refused;
      continue;
    }
    ++exported;
    const ReadArguments read = read_back(e, table);
    EXPECT_THAT(read.problems, IsEmpty()) << d.model_name << " " << summary(d.plan);
    std::set<std::string> once;
    for (const Setting& s : e.settings) EXPECT_TRUE(once.insert(s.name).second) << s.name;
    const Checked checked{read.values, e.environment, d.gpus, hopper ? 9 : 10};
    for (const ArgumentRule& rule : argument_rules()) {
      if (!rule.concerns(checked)) continue;
      ++exercised[rule.at];
      EXPECT_TRUE(rule.holds(checked)) << rule.at << " " << d.model_name << " " << summary(d.plan);
    }
  }
  EXPECT_GT(exported, 500);
  EXPECT_GT(refused, 50);
  for (const ArgumentRule& rule : argument_rules())
    EXPECT_GT(exercised[rule.at], 0) << rule.at << " was never put to the test";
}

// What Megatron-LM can be told comes back as it was.
Plan comparable(const PlanDocument& d) {
  Plan p = d.plan;
  const bool moe = d.model.moe.has_value();
  const bool narrow = p.precision == Precision::fp8 || p.precision == Precision::fp8_delayed ||
                      p.precision == Precision::mxfp8;
  const bool flex = p.dispatcher == Dispatcher::deepep || p.dispatcher == Dispatcher::hybridep;
  if (p.attention.pp == 1) p.layout.clear();
  if (p.vpp == 1) p.microbatch_group = 0;
  if (p.attention.tp == 1) p.sequence_parallel = true;
  if (p.attention.cp == 1) p.cp_comm = CpComm::p2p;
  if (!moe) p.dispatcher = Dispatcher::alltoall;
  if (!moe || !flex) p.dispatcher_sms = 0;
  if (!moe) p.expert = {1, 1, d.gpus / p.attention.pp};
  if (!narrow || p.sharding == Sharding::none) p.fp8_params = true;
  if (p.sharding == Sharding::none) p.overlap.param_gather = true;
  if (p.fsdp_group == p.attention.dp * p.attention.cp) p.fsdp_group = 0;
  p.fp8_attention = false;  // no counterpart
  return p;
}

TEST(RoundTrip, RandomPlansComeBack) {
  const FlagTable table = load_flag_table();
  int compared = 0;
  for (const PlanDocument& d : random_documents(6, 11)) {
    Exported e;
    try {
      e = export_plan(Target::megatron, {d}, "plan");
    } catch (const ConfigError&) {
      continue;
    }
    const ImportedRun run = import_arguments(read_back(e, table).values, d.gpus, "args");
    EXPECT_EQ(summary(run.document.plan), summary(comparable(d))) << d.model_name;
    EXPECT_TRUE(run.document.plan == comparable(d)) << d.model_name << " " << summary(d.plan);
    EXPECT_EQ(run.document.workload.seq_len, d.workload.seq_len);
    EXPECT_EQ(run.document.workload.global_batch, d.workload.global_batch);
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

TEST(ExportBridge, WritesOverridesWithoutSizes) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.precision = Precision::mxfp8;
  d.plan.recompute = {Module::layernorm, Module::moe_act};
  d.plan.vpp = 2;
  d.plan.optimizer.exp_avg = DType::bf16;
  const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
  EXPECT_THAT(values_of(e, "model.tensor_model_parallel_size"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "mixed_precision"), ElementsAre("bf16_with_mxfp8_mixed"));
  EXPECT_THAT(values_of(e, "model.recompute_modules"), ElementsAre("[layernorm,moe_act]"));
  EXPECT_THAT(values_of(e, "model.virtual_pipeline_model_parallel_size"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "ddp.overlap_grad_reduce"), ElementsAre("true"));
  EXPECT_THAT(values_of(e, "model.hidden_size"), ElementsAre("absent"));
  ASSERT_EQ(e.missing.size(), 1u);
  EXPECT_EQ(e.missing[0].text,
            "a torch.dtype; in Python: cfg.optimizer.exp_avg_dtype = torch.bfloat16");
}

// A flag without an entry in the table of members would abort.
TEST(ExportBridge, EveryFlagHasAMember) {
  int exported = 0;
  for (const PlanDocument& d : random_documents(8, 23)) {
    try {
      const Exported e = export_plan(Target::megatron_bridge, {d}, "plan");
      for (const Setting& s : e.settings) EXPECT_EQ(s.values.size(), 1u) << s.name;
      ++exported;
    } catch (const ConfigError&) {
    }
  }
  EXPECT_GT(exported, 200);
}

TEST(ExportTitan, WritesToml) {
  PlanDocument d = sample("llama3-8b");
  d.plan.attention = {.tp = 2, .cp = 2, .dp = 16, .pp = 1};
  d.plan.expert = {1, 1, 64};
  d.plan.sharding = Sharding::zero3;
  d.plan.fsdp_group = 8;
  d.plan.recompute_full = true;
  const Exported e = export_plan(Target::torchtitan, {d}, "plan");
  EXPECT_THAT(values_of(e, "parallelism.data_parallel_shard_degree"), ElementsAre("4"));
  EXPECT_THAT(values_of(e, "parallelism.data_parallel_replicate_degree"), ElementsAre("4"));
  const std::string text = export_text(Target::torchtitan, e, "t");
  EXPECT_THAT(text, HasSubstr("[activation_checkpoint]\nmode = \"full\"\n"));
  EXPECT_THAT(text, HasSubstr("[training]\nlocal_batch_size = 1\n"));
  EXPECT_THAT(text, HasSubstr("# for torchtitan v0.2.2"));
}

TEST(ExportTitan, SplitsLayersAsThePlanDoes) {
  PlanDocument d = sample("llama3-8b");  // 32 layers
  d.plan.expert = {1, 1, 16};
  d.plan.sharding = Sharding::none;
  d.plan.vpp = 2;
  Exported e = export_plan(Target::torchtitan, {d}, "plan");
  EXPECT_THAT(values_of(e, "parallelism.pipeline_parallel_layers_per_stage"), ElementsAre("4"));
  EXPECT_THAT(values_of(e, "parallelism.pipeline_parallel_first_stage_less_layers"),
              ElementsAre("0"));
  d.model.layers = 38;  // 40 places with embedding and loss
  d.model.moe_layer.assign(38, false);
  e = export_plan(Target::torchtitan, {d}, "plan");
  EXPECT_THAT(values_of(e, "parallelism.pipeline_parallel_layers_per_stage"), ElementsAre("5"));
  EXPECT_THAT(values_of(e, "parallelism.pipeline_parallel_first_stage_less_layers"),
              ElementsAre("1"));
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
  EXPECT_EQ(*root.find("train_batch_size")->as_integer(), 256);
  EXPECT_EQ(*root.find("gradient_accumulation_steps")->as_integer(), 32);
  EXPECT_EQ(*root.find("zero_optimization")->find("stage")->as_integer(), 2);
  EXPECT_EQ(*root.find("bf16")->find("enabled")->as_bool(), true);
  EXPECT_EQ(*root.find("expert_parallel")->find("autoep_size")->as_integer(), 8);
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 4, .pp = 2};
  d.plan.expert.edp = 1;
  d.plan.sharding = Sharding::zero1;
  EXPECT_THROW(static_cast<void>(export_plan(Target::deepspeed, {d}, "p")), ConfigError);
}

// The other targets write or refuse every legal plan, too.
TEST(ExportOthers, NeverCrash) {
  std::map<Target, int> exported;
  for (const PlanDocument& d : random_documents(10, 31)) {
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
  EXPECT_GT(exported[Target::torchtitan], 10);
  EXPECT_GT(exported[Target::deepspeed], 10);
}

}  // namespace
}  // namespace pleat::interop_test
