// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exports against the tables of Megatron-LM's flags and checks, and back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "interop/exported.hpp"
#include "interop/megatron_import.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/constraints.hpp"
#include "interop/export_targets.hpp"
#include "tests/interop/export_samples.hpp"
#include "tests/interop/megatron_rules.hpp"
#include "tests/interop/random_plans.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr Target kTargets[] = {Target::megatron, Target::megatron_bridge, Target::torchtitan,
                               Target::deepspeed};

// Fields of which no target has a word: their default says nothing, all else is refused.
const std::set<std::string> kOnlyHere{};

TEST(ExportTables, EveryFieldOfAPlanIsHandledOnceByEveryTarget) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.optimizer.grad_reduce = DType::bf16;  // written where they are given
  d.workload.expert_spread = 0.1;
  d.workload.unbound_ranks = true;
  d.workload.expert_loads = {{0, {1, 2}}};
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
    for (const std::string& path : fields) {
      const bool refused = std::ranges::any_of(
          refusals(target), [&](const Refusal& r) { return r.path == path; });
      const std::size_t rules = handled.count(path);
      EXPECT_TRUE(rules == 1 || (rules == 0 && (refused || kOnlyHere.contains(path))))
          << path << ", target " << static_cast<int>(target);
    }
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

TEST(ExportMegatron, ExpertsAreBalancedAsTheModelSaysOrAsIsUsual) {
  const auto said = [](const PlanDocument& d, const char* flag) {
    return values_of(export_plan(Target::megatron, {d}, "p"), flag);
  };
  const char* const kind = "--moe-router-load-balancing-type";
  const char* const factor = "--moe-aux-loss-coeff";
  PlanDocument d = sample("mixtral-8x7b");
  EXPECT_THAT(said(d, kind), ElementsAre("aux_loss"));
  EXPECT_THAT(said(d, factor), ElementsAre("0.01"));
  PlanDocument biased = sample("deepseek-v3");
  biased.plan.layout = "Et*15|t*16|t*16|t*14mL";
  EXPECT_THAT(said(biased, kind), ElementsAre("seq_aux_loss"));
  EXPECT_THAT(said(biased, factor), ElementsAre("0.0001"));
  d.model.moe->aux_loss = 0.02;
  d.model.moe->seq_aux_loss = 0.003;
  d.model.moe->z_loss = 0.001;
  EXPECT_THAT(said(d, kind), ElementsAre("aux_loss", "seq_aux_loss"));
  EXPECT_THAT(said(d, factor), ElementsAre("0.02", "0.003"));
  EXPECT_THAT(said(d, "--moe-z-loss-coeff"), ElementsAre("0.001"));
  biased.model.moe->bias_update = 0.001;
  EXPECT_THAT(said(biased, "--moe-router-bias-update-rate"), ElementsAre("0.001"));
  // No run of a model is a benchmark unless somebody says so.
  EXPECT_THAT(said(d, "--moe-router-force-load-balancing"), ElementsAre("absent"));
}

TEST(ExportMegatron, NamesWhatGraphsCapture) {
  const auto modules = [](const std::string& model, CudaGraph scope) {
    PlanDocument d = sample(model);
    if (!d.model.moe) d.plan.expert = {.etp = 1, .ep = 1, .edp = 16};
    d.plan.cuda_graph = scope;
    return values_of(export_plan(Target::megatron, {d}, "p"), "--cuda-graph-modules");
  };
  EXPECT_THAT(modules("mixtral-8x7b", CudaGraph::attention), ElementsAre("attn"));
  EXPECT_THAT(modules("mixtral-8x7b", CudaGraph::router),
              ElementsAre("moe_router", "moe_preprocess"));
  EXPECT_THAT(modules("mixtral-8x7b", CudaGraph::partial),
              ElementsAre("attn", "moe_router", "moe_preprocess"));
  EXPECT_THAT(modules("llama3-8b", CudaGraph::attention), ElementsAre("attn"));
  EXPECT_THAT(modules("llama3-8b", CudaGraph::partial), ElementsAre("attn", "mlp"));
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

TEST(ExportMegatron, WritesShardGroupsAndGradientTypes) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.attention = {.tp = 1, .cp = 8, .dp = 8, .pp = 1};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 8};
  d.plan.cp_comm = CpComm::a2a_p2p;
  d.plan.cp_a2a = 2;
  d.plan.optimizer_instances = 4;
  Exported e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--cp-comm-type"), ElementsAre("a2a+p2p"));
  EXPECT_THAT(values_of(e, "--hierarchical-context-parallel-sizes"), ElementsAre("2", "4"));
  EXPECT_THAT(values_of(e, "--num-distributed-optimizer-instances"), ElementsAre("4"));
  EXPECT_THAT(values_of(e, "--outer-dp-sharding-strategy"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "--grad-reduce-in-bf16"), ElementsAre("absent"));
  d.plan.optimizer_instances = 1;
  d.plan.sharding = Sharding::zero3;
  d.plan.fsdp_group = 32;
  d.plan.optimizer.grad_reduce = DType::bf16;
  e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--num-distributed-optimizer-instances"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "--outer-dp-sharding-strategy"), ElementsAre("no_shard"));
  EXPECT_THAT(values_of(e, "--grad-reduce-in-bf16"), IsEmpty());
  EXPECT_THAT(values_of(e, "--megatron-fsdp-main-grads-dtype"), ElementsAre("fp32"));
  EXPECT_THAT(values_of(e, "--megatron-fsdp-grad-comm-dtype"), ElementsAre("bf16"));
  EXPECT_THAT(values_of(e, "--use-precision-aware-optimizer"), ElementsAre("absent"));
  e = export_plan(Target::megatron_bridge, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "model.hierarchical_context_parallel_sizes"), ElementsAre("[2,4]"));
  ASSERT_EQ(e.missing.size(), 3u);
  EXPECT_EQ(e.missing[2].text,
            "a torch.dtype; in Python: cfg.ddp.megatron_fsdp_grad_comm_dtype = torch.bfloat16");
}

// As Megatron-Bridge's recipes set it.
TEST(ExportMegatron, ExchangesBesideComputeHaveConnections) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.attention = {.tp = 2, .cp = 1, .dp = 32, .pp = 1};
  d.plan.expert = {.etp = 1, .ep = 8, .edp = 8};
  d.plan.overlap.expert_parallel = true;
  using Variable = std::pair<std::string, std::string>;
  EXPECT_THAT(export_plan(Target::megatron, {d}, "p").environment,
              ElementsAre(Variable{"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
                          Variable{"NVTE_FWD_LAYERNORM_SM_MARGIN", "16"},
                          Variable{"NVTE_BWD_LAYERNORM_SM_MARGIN", "16"}));
  d.plan.dispatcher = Dispatcher::deepep;
  EXPECT_EQ(export_plan(Target::megatron, {d}, "p").environment.back().second, "20");
}

// There is nobody to send to (core/transformer/moe/token_dispatcher.py:1836).
TEST(ExportMegatron, FusedDispatchersAloneAreAllToAll) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.dispatcher = Dispatcher::deepep;
  d.plan.dispatcher_sms = 24;
  d.plan.expert = {.etp = 1, .ep = 1, .edp = 16};
  Exported e = export_plan(Target::megatron, {d}, "p");
  EXPECT_THAT(values_of(e, "--moe-token-dispatcher-type"), ElementsAre("alltoall"));
  EXPECT_THAT(values_of(e, "--moe-flex-dispatcher-backend"), ElementsAre("absent"));
  EXPECT_TRUE(e.missing.empty());
  d.plan.expert = {.etp = 2, .ep = 1, .edp = 8};
  e = export_plan(Target::megatron, {d}, "p");
  EXPECT_THAT(values_of(e, "--moe-token-dispatcher-type"), ElementsAre("flex"));
  EXPECT_THAT(values_of(e, "--moe-flex-dispatcher-num-sms"), ElementsAre("24"));
}

// core/transformer/moe/experts.py:205.
TEST(ExportMegatron, ExpertsWithBiasesExcludeAFusion) {
  const auto said = [](const char* model) {
    return values_of(export_plan(Target::megatron, {sample(model)}, "p"),
                     "--no-bias-dropout-fusion");
  };
  EXPECT_THAT(said("gpt-oss-20b"), IsEmpty());
  EXPECT_THAT(said("gpt-oss-120b"), IsEmpty());
  EXPECT_THAT(said("mixtral-8x7b"), ElementsAre("absent"));
}

TEST(ExportMegatron, WritesOptimizersAndStash) {
  PlanDocument d = sample("mixtral-8x7b");
  d.plan.dispatcher = Dispatcher::hybridep;
  d.plan.paged_stash = {.buffer = 1.2, .capacity = 1.5};
  d.plan.recompute_full = true;
  d.plan.recompute_unit = 2;
  d.plan.optimizer.kind = OptimizerKind::muon;
  Exported e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--moe-paged-stash"), IsEmpty());
  EXPECT_THAT(values_of(e, "--moe-paged-stash-buffer-size-factor-cuda"), ElementsAre("1.2"));
  EXPECT_THAT(values_of(e, "--moe-expert-rank-capacity-factor"), ElementsAre("1.5"));
  EXPECT_THAT(values_of(e, "--recompute-method"), ElementsAre("uniform"));
  EXPECT_THAT(values_of(e, "--recompute-num-layers"), ElementsAre("2"));
  EXPECT_THAT(values_of(e, "--optimizer"), ElementsAre("muon"));
  d.plan.optimizer.kind = OptimizerKind::adamw;
  d.plan.optimizer.cpu_offload = 0.5;
  d.plan.optimizer.main_params = DType::remainder16;
  d.workload.documents = {512, 4096};
  d.workload.expert_spread = 0.1;
  d.workload.expert_loads = {{0, {1, 2}}};
  e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--optimizer"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "--optimizer-cpu-offload"), IsEmpty());
  EXPECT_THAT(values_of(e, "--optimizer-offload-fraction"), ElementsAre("0.5"));
  EXPECT_THAT(values_of(e, "--use-precision-aware-optimizer"), IsEmpty());
  EXPECT_THAT(values_of(e, "--main-params-dtype"), ElementsAre("absent"));
  std::vector<std::string> missing;
  for (const auto& m : e.missing) missing.push_back(m.field + " " + m.value);
  EXPECT_THAT(missing, UnorderedElementsAre("workload.documents [512, 4096]",
                                            "workload.expert_spread 0.1",
                                            "workload.expert_loads given"));
}

TEST(ExportMegatron, GathersBesideTheStepWithCheckpointsOfTheOlderFormat) {
  PlanDocument d = sample("llama3-70b");
  d.plan.expert = {.etp = 1, .ep = 1, .edp = 16};
  d.plan.vpp = 2;
  d.plan.overlap.gather_beside_step = true;
  const Exported e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--overlap-param-gather-with-optimizer-step"), IsEmpty());
  EXPECT_THAT(values_of(e, "--ckpt-format"), ElementsAre("torch"));
  const Exported bridge = export_plan(Target::megatron_bridge, {d}, "plan.json");
  const char* const name = "comm_overlap.overlap_param_gather_with_optimizer_step";
  EXPECT_THAT(values_of(bridge, std::string("++") + name), ElementsAre("true"));
}

TEST(ExportMegatron, SaysWhatIsFused) {
  PlanDocument d = sample("mixtral-8x7b");
  Exported e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--moe-permute-fusion"), IsEmpty());
  EXPECT_THAT(values_of(e, "--moe-router-fusion"), IsEmpty());
  EXPECT_THAT(values_of(e, "--ddp-bucket-size"), ElementsAre("absent"));
  d.plan.fusions = {.permute = false, .router = false, .scale_init = false};
  d.plan.ddp_bucket_size = 768'000'000;
  e = export_plan(Target::megatron, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "--moe-permute-fusion"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "--moe-router-fusion"), ElementsAre("absent"));
  EXPECT_THAT(values_of(e, "--ddp-bucket-size"), ElementsAre("768000000"));
  EXPECT_THAT(e.missing, ElementsAre(Remark{"plan.fusions.scale_init", "false",
                                            "no flag; the release of TransformerEngine decides"}));
  // A recipe of Megatron-Bridge has them on: off is said.
  e = export_plan(Target::megatron_bridge, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "model.moe_permute_fusion"), ElementsAre("false"));
  EXPECT_THAT(values_of(e, "ddp.bucket_size"), ElementsAre("768000000"));
  d.plan.fusions = {};
  e = export_plan(Target::megatron_bridge, {d}, "plan.json");
  EXPECT_THAT(values_of(e, "model.moe_router_fusion"), ElementsAre("true"));
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
      {"plan.schedule", [](PlanDocument& d) { d.plan.schedule = PipelineSchedule::zb_h1; }},
      {"plan.stages",
       [](PlanDocument& d) { d.plan.stages = {{.stage = 0, .recompute = {}, .offload = {}}}; }},
      {"plan.dispatcher", [](PlanDocument& d) { d.plan.dispatcher = Dispatcher::hierarchical; }},
      {"plan.fp8_dispatch", [](PlanDocument& d) { d.plan.fp8_dispatch = true; }},
      {"plan.fp8_combine", [](PlanDocument& d) { d.plan.fp8_combine = true; }},
      {"plan.optimizer.kind", [](PlanDocument& d) { d.plan.optimizer.kind = OptimizerKind::lamb; }},
      {"plan.optimizer.kind",
       [](PlanDocument& d) {
         d.plan.optimizer.kind = OptimizerKind::muon;
         d.plan.optimizer.exp_avg = DType::bf16;
       }},
      {"plan.optimizer.state_offload",
       [](PlanDocument& d) { d.plan.optimizer.state_offload = 0.5; }},
      {"plan.optimizer.cpu_offload",
       [](PlanDocument& d) {
         d.plan.optimizer.cpu_offload = 1;
         d.plan.precision = Precision::mxfp8;
       }},
      {"plan.paged_stash",
       [](PlanDocument& d) {
         d.plan.paged_stash = {1.1, 1.5};
       }},
      {"plan.overlap.delay_wgrad",
       [](PlanDocument& d) {
         d.plan.attention = {.tp = 2, .cp = 1, .dp = 32, .pp = 1};
         d.plan.expert = {.etp = 1, .ep = 8, .edp = 8};
         d.plan.overlap.expert_parallel = d.plan.overlap.delay_wgrad = true;
         d.plan.overlap.tensor_parallel = true;
       }},
      {"plan.overlap.gather_beside_step",
       [](PlanDocument& d) {
         d.plan.vpp = 4;
         d.plan.overlap.gather_beside_step = true;
       }},
      {"plan.loss_chunks", [](PlanDocument& d) { d.plan.loss_chunks = 4; }},
      {"plan.overlap.tile_level", [](PlanDocument& d) { d.plan.overlap.tile_level = true; }},
      {"plan.optimizer.grad_reduce",
       [](PlanDocument& d) { d.plan.optimizer.grad_reduce = DType::bf16; }},
      {"plan.optimizer.main_grads",
       [](PlanDocument& d) {
         d.plan.optimizer.main_grads = DType::bf16;
         d.plan.precision = Precision::fp16;
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
  for (const PlanDocument& d : random_documents(90, 7)) {
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
  const bool fused = p.dispatcher == Dispatcher::deepep || p.dispatcher == Dispatcher::hybridep;
  const bool flex = fused && p.expert.etp * p.expert.ep > 1;
  if (p.attention.pp == 1) p.layout.clear();
  if (p.vpp == 1) p.microbatch_group = 0;
  if (p.attention.tp == 1) p.sequence_parallel = false;
  if (p.attention.cp == 1) p.cp_comm = CpComm::p2p;
  if (!moe || (fused && !flex)) p.dispatcher = Dispatcher::alltoall;
  if (!moe || !flex) p.dispatcher_sms = 0;
  if (!moe) p.expert = {1, 1, d.gpus / p.attention.pp};
  if (!narrow || p.sharding == Sharding::none) p.fp8_params = true;
  if (p.sharding == Sharding::none) p.overlap.param_gather = true;
  if (p.fsdp_group == p.attention.dp * p.attention.cp) p.fsdp_group = 0;
  if (p.optimizer.grad_reduce == p.optimizer.main_grads) p.optimizer.grad_reduce.reset();
  if (p.optimizer.main_params == DType::remainder16) p.optimizer.main_params = DType::fp32;
  if (!moe) p.fusions.permute = p.fusions.router = true;
  p.fusions.scale_init = p.fusions.scale_order = true;  // no counterpart
  p.fp8_attention = false;  // no counterpart
  // Megatron-LM's layout names each prediction depth.
  const auto depths = static_cast<std::size_t>(std::max<std::int64_t>(1, d.model.mtp_layers));
  if (const std::size_t at = p.layout.find('m');
      at != std::string::npos && p.layout.find('m', at + 1) == std::string::npos)
    p.layout.insert(at, depths - 1, 'm');
  return p;
}

TEST(RoundTrip, RandomPlansComeBack) {
  const FlagTable table = load_flag_table();
  int compared = 0;
  for (const PlanDocument& d : random_documents(9, 11)) {
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

}  // namespace
}  // namespace pleat::interop_test
