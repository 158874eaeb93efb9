// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages of the rules about shard instances and narrow or fused exchanges.
#include <gtest/gtest.h>

#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::expect_violation;

TEST(Constraints, OptimizerInstances) {
  expect_violation([](Case& c) { c.plan.optimizer_instances = 0; }, "optimizer-instances",
                   "optimizer_instances", "must be at least 1, is 0", "");
  expect_violation(
      [](Case& c) {
        c.plan.optimizer_instances = 2;
        c.plan.sharding = Sharding::none;
      },
      "optimizer-instances", "optimizer_instances",
      "2 instances of the optimizer state need zero1, sharding is none",
      "fsdp_group says the same of zero2 and zero3");
  expect_violation([](Case& c) { c.plan.optimizer_instances = 3; }, "optimizer-instances",
                   "optimizer_instances", "DP*CP = 32 ranks cannot be split into 3 instances",
                   "divisors up to 3: 1 2");
  Case fine;
  fine.plan.optimizer_instances = 2;
  EXPECT_TRUE(violations(fine.context()).empty());
}

TEST(Constraints, ExpertShardsFollowTheInstances) {
  expect_violation([](Case& c) { c.plan.optimizer_instances = 4; }, "expert-shards",
                   "optimizer_instances",
                   "EDP 2 cannot be split into 4 shard groups, as DP*CP = 32 is",
                   "numbers of groups up to 4: 1 2");
}

TEST(Constraints, NarrowExchanges) {
  const auto one_rank_of_experts = [](Case& c) {
    c.plan.expert = {.etp = 2, .ep = 1, .edp = 32};
  };
  expect_violation(
      [&](Case& c) {
        one_rank_of_experts(c);
        c.plan.fp8_combine = true;
      },
      "fp8-exchange-needs-ep", "fp8_combine",
      "an fp8 exchange of experts' rows needs EP > 1, EP is 1", "");
  expect_violation(
      [](Case& c) {
        c.plan.fp8_dispatch = true;
        c.plan.precision = Precision::fp32;
      },
      "fp8-exchange-precision", "fp8_dispatch", "an fp8 exchange excludes precision fp32",
      "bf16 or narrower");
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.main_grads = DType::bf16;
        c.plan.optimizer.grad_reduce = DType::fp32;
      },
      "grad-reduce-type", "optimizer.grad_reduce",
      "gradients kept in bf16 cannot be reduced in fp32", "fp32 or bf16, no wider than main_grads");
  expect_violation([](Case& c) { c.plan.optimizer.main_grads = DType::fp16; }, "gradient-type",
                   "optimizer.main_grads", "gradients in fp16 exclude precision bf16",
                   "fp32 or bf16, or precision fp16");
  expect_violation([](Case& c) { c.plan.optimizer.grad_reduce = DType::fp8; }, "grad-reduce-type",
                   "optimizer.grad_reduce", "gradients kept in fp32 cannot be reduced in fp8",
                   "fp32 or bf16, no wider than main_grads");
}

TEST(Constraints, TileLevelOverlap) {
  expect_violation(
      [](Case& c) {
        c.plan.expert = {.etp = 2, .ep = 1, .edp = 32};
        c.plan.dispatcher = Dispatcher::allgather;
        c.plan.overlap.tile_level = true;
      },
      "tile-overlap-needs-ep", "overlap.tile_level",
      "tile-level overlap of expert exchanges needs EP > 1, EP is 1", "");
  expect_violation(
      [](Case& c) {
        c.plan.expert = {.etp = 1, .ep = 16, .edp = 4};
        c.plan.overlap.tile_level = true;
        c.plan.overlap.expert_parallel = true;
      },
      "tile-overlap-alone", "overlap.tile_level",
      "tile-level overlap excludes overlap.expert_parallel", "one of them hides the exchanges");
  expect_violation(
      [](Case& c) {
        c.plan.expert = {.etp = 1, .ep = 16, .edp = 4};
        c.plan.overlap.tile_level = true;
        c.plan.dispatcher = Dispatcher::deepep;
      },
      "tile-overlap-dispatcher", "dispatcher",
      "tile-level overlap has kernels of its own, the dispatcher is deepep",
      "alltoall or allgather");
  expect_violation([](Case& c) { c.plan.overlap.tile_level = true; }, "tile-overlap-etp",
                   "overlap.tile_level", "tile-level overlap of an all-to-all excludes ETP 2",
                   "ETP 1, or the allgather dispatcher");
}

TEST(Constraints, WeightsGatheredBesideTheStep) {
  const auto refused = [](auto change, const std::string& why) {
    expect_violation(
        [&](Case& c) {
          c.plan.overlap.gather_beside_step = true;
          change(c);
        },
        "gather-beside-step", "overlap.gather_beside_step",
        "weights are gathered beside the optimizer's step with zero1, overlap.param_gather and "
        "VPP > 1; " + why,
        "false");
  };
  refused([](Case& c) { c.plan.vpp = 1; }, "VPP is 1");
  refused([](Case& c) { c.plan.sharding = Sharding::none; }, "sharding is none");
  refused([](Case& c) { c.plan.overlap.param_gather = false; }, "overlap.param_gather is off");
}

TEST(Constraints, LossInParts) {
  expect_violation([](Case& c) { c.plan.loss_chunks = 0; }, "loss-chunks", "loss_chunks",
                   "must be at least 1, is 0", "");
  expect_violation([](Case& c) { c.plan.loss_chunks = 3; }, "loss-chunks", "loss_chunks",
                   "the 2048 tokens of a microbatch cannot be cut into 3 equal parts",
                   "divisors up to 3: 1 2");
  Case fine;
  fine.plan.loss_chunks = 2048;
  EXPECT_TRUE(violations(fine.context()).empty());
}

TEST(Constraints, HierarchicalContextParallelism) {
  expect_violation([](Case& c) { c.plan.cp_a2a = 2; }, "cp-groups", "cp_a2a",
                   "groups of 2 need cp_comm a2a+p2p, it is p2p", "0");
  const auto eight = [](int inner) {
    return [inner](Case& c) {
      c.plan.attention = {.tp = 2, .cp = 8, .dp = 4, .pp = 4};
      c.plan.cp_comm = CpComm::a2a_p2p;
      c.plan.cp_a2a = inner;
    };
  };
  expect_violation(eight(8), "cp-groups", "cp_a2a",
                   "CP 8 cannot be split into several groups of 8 ranks",
                   "a divisor of CP above 1 and below CP: 1 2 4");
  Case fine;
  eight(4)(fine);
  EXPECT_TRUE(violations(fine.context()).empty());
}

}  // namespace
}  // namespace pleat
