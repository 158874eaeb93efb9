// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plan flags reach the plan file, and wrong words are told what would be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_document.hpp"
#include "core/plan/plan_table.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const Words kMixtral{"predict", "--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--gpus", "64",
                     "--seq-len", "4096", "--global-batch", "256", "--ep", "8"};

PlanDocument written(const Words& flags) {
  const std::string file = test_folder() + "/plan.json";
  const Said run = run_pleat(kMixtral + flags + Words{"--out", file, "--force"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return read_plan_document(read_text(file), file);
}

TEST(PlanFlags, EveryRowOfTheTableIsAnOption) {
  const std::string predict = run_pleat({"predict", "--help-all"}).out;
  const std::string plan = run_pleat({"plan", "--help-all"}).out;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if (field.may_be_pinned()) {
      EXPECT_THAT(plan, HasSubstr("--" + std::string(field.pin_flag()) + " "));
    }
    if (field.typed.flag.empty()) return;
    EXPECT_THAT(predict, HasSubstr("--" + field.typed_name() + " "));
    if (field.chosen_by == ChosenBy::numerics) {
      EXPECT_THAT(plan, HasSubstr("--" + std::string(field.typed.flag) + " "));
    }
  });
}

TEST(PlanFlags, MemoryAndPrecision) {
  const Plan p = written({"--recompute", "full:3", "--precision", "fp8_delayed", "--no-fp8-params",
                          "--cuda-graph", "full_iteration", "--exp-avg-dtype", "bf16",
                          "--main-grads-dtype", "bf16"})
                     .plan;
  EXPECT_TRUE(p.recompute_full);
  EXPECT_EQ(p.recompute_layers, 3);
  EXPECT_EQ(p.precision, Precision::fp8_delayed);
  EXPECT_FALSE(p.fp8_params);
  EXPECT_EQ(p.cuda_graph, CudaGraph::full_iteration);
  EXPECT_EQ(p.optimizer.exp_avg, DType::bf16);
  EXPECT_EQ(p.optimizer.exp_avg_sq, DType::fp32);
  EXPECT_EQ(p.optimizer.main_grads, DType::bf16);
  EXPECT_EQ(written({"--offload", "core_attn,attn_proj+moe_act"}).plan.offload,
            (std::set<Offload>{Offload::core_attn, Offload::attn_proj, Offload::moe_act}));
  EXPECT_EQ(written({"--offload-layers", "5"}).plan.offload_layers, 5);
}

TEST(PlanFlags, Stages) {
  const Plan p = written({"--pp", "4", "--recompute", "full", "--recompute-unit", "2",
                          "--recompute-stages", "0=moe_act+layernorm/2-3=none", "--offload-stages",
                          "0=none/3=core_attn+attn_proj"})
                     .plan;
  const std::vector<StageOverride> expected{
      {.stage = 0, .recompute = {Module::moe_act, Module::layernorm}, .offload = {}},
      {.stage = 2, .recompute = {}, .offload = {}},
      {.stage = 3, .recompute = {}, .offload = {Offload::core_attn, Offload::attn_proj}}};
  EXPECT_EQ(p.stages, expected);
  EXPECT_EQ(written({"--pp", "4", "--recompute-stages", "1=full:2"}).plan.stages.front(),
            (StageOverride{.stage = 1, .recompute = {}, .recompute_full = true,
                           .recompute_layers = 2, .offload = {}}));
}

TEST(PlanFlags, Optimizer) {
  const PlanDocument d =
      written({"--optimizer", "adam", "--main-params-dtype", "remainder16", "--exp-avg-sq-dtype",
               "fp16", "--state-offload", "0.25", "--cpu-optimizer", "0.5",
               "--overlap-cpu-optimizer", "--paged-stash", "1.1", "--stash-capacity", "1.5",
               "--documents", "512,2048"});
  EXPECT_EQ(d.plan.optimizer,
            (OptimizerPlan{.main_params = DType::remainder16, .exp_avg_sq = DType::fp16,
                           .grad_reduce = {}, .state_offload = 0.25, .cpu_offload = 0.5,
                           .cpu_offload_overlapped = true}));
  EXPECT_EQ(d.plan.paged_stash, (PagedStash{1.1, 1.5}));
  EXPECT_EQ(d.workload.documents, (std::vector<std::int64_t>{512, 2048}));
  EXPECT_EQ(written({"--optimizer", "muon"}).plan.optimizer.kind, OptimizerKind::muon);
  EXPECT_EQ(written({"--recompute", "full", "--recompute-unit", "4"}).plan.recompute_unit, 4);
  const Said wrong = run_pleat(kMixtral + Words{"--optimizer", "moun"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean muon?"));
  EXPECT_EQ(run_pleat(kMixtral + Words{"--state-offload", "1.5"}).exit_code, 2);
}

TEST(PlanFlags, ExchangesAndOverlap) {
  const Plan p = written({"--tp", "2", "--cp", "2", "--cp-comm", "a2a", "--tp-overlap",
                          "--no-grad-overlap", "--no-param-overlap", "--dispatcher", "deepep",
                          "--dispatcher-sms", "20"})
                     .plan;
  EXPECT_EQ(p.cp_comm, CpComm::all_to_all);
  EXPECT_EQ(p.overlap, (OverlapFlags{.grad_reduce = false, .param_gather = false,
                                     .tensor_parallel = true}));
  EXPECT_EQ(p.dispatcher_sms, 20);
  const Plan paired = written({"--ep-overlap", "--delay-wgrad"}).plan;
  EXPECT_TRUE(paired.overlap.expert_parallel && paired.overlap.delay_wgrad);
  EXPECT_EQ(written({"--sharding", "zero3", "--fsdp-group", "8"}).plan.fsdp_group, 8);
}

TEST(PlanFlags, FusionsAndBuckets) {
  const Plan p = written({"--no-permute-fusion", "--no-scale-init-fusion", "--ddp-bucket-size",
                          "768000000"})
                     .plan;
  EXPECT_EQ(p.fusions, (Fusions{.permute = false, .scale_init = false}));
  EXPECT_EQ(p.ddp_bucket_size, 768'000'000);
  const Said large = run_pleat(kMixtral + Words{"--ddp-bucket-size", "3000000000"});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("--ddp-bucket-size"));
}

TEST(PlanFlags, LossInParts) {
  EXPECT_EQ(written({"--loss-chunks", "8"}).plan.loss_chunks, 8);
  const Said uneven = run_pleat(kMixtral + Words{"--loss-chunks", "3"});
  EXPECT_EQ(uneven.exit_code, 2);
  EXPECT_THAT(uneven.err, HasSubstr("tokens of a microbatch cannot be cut into 3 equal parts"));
}

TEST(PlanFlags, OrdersAndShards) {
  const Plan order = written({"--pp", "2", "--vpp", "2", "--schedule", "zb-v"}).plan;
  EXPECT_EQ(order.schedule, PipelineSchedule::zb_v);
  const PlanDocument narrow =
      written({"--fp8-dispatch", "--fp8-combine", "--tile-overlap", "--optimizer-instances", "2",
               "--grad-reduce-dtype", "bf16", "--straggler-slowdown", "0.02",
               "--unbound-ranks"});
  EXPECT_TRUE(narrow.plan.fp8_dispatch && narrow.plan.fp8_combine);
  EXPECT_TRUE(narrow.plan.overlap.tile_level);
  EXPECT_EQ(narrow.plan.optimizer_instances, 2);
  EXPECT_EQ(narrow.plan.optimizer.grad_reduce, DType::bf16);
  EXPECT_EQ(narrow.workload.straggler_slowdown, 0.02);
  EXPECT_TRUE(narrow.workload.unbound_ranks);
  const Plan mixed = written({"--cp", "4", "--cp-comm", "a2a+p2p", "--cp-a2a", "2"}).plan;
  EXPECT_EQ(mixed.cp_comm, CpComm::a2a_p2p);
  EXPECT_EQ(mixed.cp_a2a, 2);
}

TEST(PlanFlags, Capacity) {
  const WorkloadSpec w = written({"--capacity-factor", "1.25", "--pad-to-capacity"}).workload;
  EXPECT_EQ(w.capacity_factor, 1.25);
  EXPECT_TRUE(w.pad_to_capacity);
}

TEST(PlanFlags, WrongWords) {
  const auto error = [](const Words& flags) {
    const Said run = run_pleat(kMixtral + flags);
    EXPECT_EQ(run.exit_code, 2);
    return run.err;
  };
  EXPECT_THAT(error({"--recompute", "full:x"}), HasSubstr("'x' is not a number of layers"));
  const auto stages = [&](const char* words) {
    return error({"--pp", "4", "--recompute-stages", words});
  };
  EXPECT_THAT(stages("full"), HasSubstr("'full' does not say what which stages do"));
  EXPECT_THAT(stages("3-2=full"), HasSubstr("0=full/1-2=none"));
  EXPECT_THAT(stages("0-1=full/1=none"), HasSubstr("stage 1 is named twice"));
  EXPECT_THAT(stages("4=full"), HasSubstr("stages[0].stage: stage 4 of 4"));
  EXPECT_THAT(stages("1=mla_up_proj"), HasSubstr("stages[0].recompute"));
  EXPECT_THAT(error({"--offload", "core_atn"}), HasSubstr("did you mean core_attn?"));
  EXPECT_THAT(error({"--cuda-graph", "all"}),
              HasSubstr("'all' is not one of none, attention, router, partial, full_iteration"));
  EXPECT_THAT(error({"--cp-comm", "ring"}), HasSubstr("p2p, all_gather, all_to_all"));
  EXPECT_THAT(error({"--exp-avg-dtype", "int8"}), HasSubstr("fp32, bf16, fp8"));
  EXPECT_THAT(error({"--tp-overlap"}), HasSubstr("needs TP > 1, TP is 1"));
  EXPECT_THAT(error({"--pad-to-capacity"}), HasSubstr("padding to capacity needs a capacity"));
}

TEST(PlanFlags, ShapesOfComparedRecipes) {
  const Said run =
      run_pleat({"plan", "--model", "tiny-moe", "--cluster", "localhost", "--gpus", "2",
                 "--seq-len", "64", "--global-batch", "4", "--compare", "tp=1,ep-overlap=yes"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("ep-overlap takes no value"));
}

}  // namespace
}  // namespace pleat::cli_test
