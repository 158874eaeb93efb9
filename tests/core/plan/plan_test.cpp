// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One line per plan.
#include "core/plan/plan.hpp"
#include "core/plan/plan_parts.hpp"

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(PlanSummary, DegreesAlwaysTheRestWhenNotPlain) {
  Plan plan;
  EXPECT_EQ(summary(plan), "TP1 CP1 DP1 PP1 VPP1 | ETP1 EP1 EDP1 | mbs1 bf16 zero1 alltoall");
  plan.attention = {.tp = 2, .cp = 1, .dp = 128, .pp = 2};
  plan.expert = {.etp = 1, .ep = 32, .edp = 8};
  plan.vpp = 8;
  plan.microbatch_group = 4;
  plan.sequence_parallel = false;
  plan.precision = Precision::mxfp8;
  plan.dispatcher = Dispatcher::hybridep;
  plan.recompute = {Module::moe_act, Module::mla_up_proj};
  plan.overlap.expert_parallel = true;
  plan.overlap.delay_wgrad = true;
  plan.cuda_graph = CudaGraph::partial;
  plan.layout = "EtL";
  EXPECT_EQ(summary(plan),
            "TP2 CP1 DP128 PP2 VPP8 | ETP1 EP32 EDP8 | mbs1 mxfp8 zero1 hybridep group4 no-sp "
            "recompute=mla_up_proj,moe_act ep-overlap delay-wgrad graph=partial layout=EtL");
}

TEST(PlanSummary, EachWordIsAboutSomething) {
  Plan plan;
  plan.attention.tp = 2;
  plan.sequence_parallel = false;
  plan.optimizer.exp_avg = DType::bf16;
  plan.layout = "EtL";
  std::string parallel, others;
  for (const PlanPart& part : plan_parts(plan)) {
    (part.topic == PlanTopic::parallel ? parallel : others) += part.text + " ";
  }
  EXPECT_EQ(parallel, "TP2 CP1 DP1 PP1 VPP1 no-sp ");
  EXPECT_EQ(others, "ETP1 EP1 EDP1 mbs1 bf16 zero1 alltoall exp-avg=bf16 layout=EtL ");
}

TEST(PlanSummary, FullRecompute) {
  Plan plan;
  plan.recompute_full = true;
  plan.sharding = Sharding::none;
  EXPECT_EQ(summary(plan),
            "TP1 CP1 DP1 PP1 VPP1 | ETP1 EP1 EDP1 | mbs1 bf16 none alltoall recompute=full");
}

TEST(PlanSummary, MemoryAndExchanges) {
  Plan plan;
  plan.attention.cp = 2;
  plan.cp_comm = CpComm::all_gather;
  plan.sharding = Sharding::zero3;
  plan.fsdp_group = 8;
  plan.dispatcher_sms = 20;
  plan.recompute_full = true;
  plan.recompute_layers = 2;
  plan.offload = {Offload::core_attn, Offload::moe_act};
  plan.offload_layers = 4;
  plan.precision = Precision::fp8_block;
  plan.fp8_params = false;
  plan.overlap = {.grad_reduce = false, .param_gather = false, .tensor_parallel = true,
                  .shared_expert = true};
  plan.optimizer.exp_avg = DType::bf16;
  EXPECT_EQ(summary(plan),
            "TP1 CP2 DP1 PP1 VPP1 | ETP1 EP1 EDP1 | mbs1 fp8_block zero3 alltoall shards8 sms20 "
            "cp=all_gather recompute=full:2 offload=core_attn,moe_act offload-layers=4 bf16-params "
            "tp-overlap shared-overlap no-grad-overlap no-param-overlap exp-avg=bf16");
}

}  // namespace
}  // namespace pleat
