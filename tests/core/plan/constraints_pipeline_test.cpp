// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages of the rules about pipelines and techniques.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::expect_violation;

TEST(Constraints, LayersWithoutALayoutOfferTheBalancedOne) {
  expect_violation(
      [](Case& c) {
        c.model.layers = 61;
        c.model.moe_layer.resize(61);
        c.plan.attention = {.tp = 1, .cp = 1, .dp = 16, .pp = 16};
        c.plan.expert = {.etp = 1, .ep = 16, .edp = 1};
        c.plan.vpp = 1;
      },
      "layers-per-stage", "layout",
      "61 layers cannot be split evenly over PP*VPP = 16*1 = 16 stages",
      "balanced layout: Et*3|(t*4|)*13t*3|t*3L");
  Case llama;  // 126 layers with embedding and loss as one each
  llama.model.layers = 126;
  llama.model.moe_layer.resize(126, true);
  llama.plan.vpp = 8;
  EXPECT_TRUE(violations(llama.context()).empty());
}

TEST(Constraints, LayoutMessagesAndExitCodes) {
  const auto with = [](const std::string& layout) {
    return [=](Case& c) {
      c.plan.attention = {.tp = 2, .cp = 2, .dp = 32, .pp = 2};
      c.plan.expert = {.etp = 2, .ep = 16, .edp = 4};
      c.plan.vpp = 1;
      c.plan.layout = layout;
    };
  };
  const std::string offer = "balanced layout: Et*32|t*32L";
  expect_violation(with("Et*32|t*32"), "layout", "layout",
                   "no L (loss): the layout ends at position 10 after 64 decoder layers", offer);
  expect_violation(with("Et*31|t*32L"), "layout", "layout",
                   "63 decoder layers (t), the model has 64; the last t is at position 7", offer);
  expect_violation(with("t*64L"), "layout", "layout",
                   "no E (embedding) at position 1; 1 virtual stages, but PP*VPP = 2*1 = 2", offer);
  expect_violation(with("Et*32(|t*32L"), "layout", "layout", "'(' without ')' at position 6",
                   offer);
  expect_violation(with("t*1000000000"), "layout", "layout", "expanded layout longer than 100000",
                   offer, ExitCode::bad_file);
}

TEST(Constraints, GlobalBatch) {
  expect_violation(
      [](Case& c) {
        c.workload.global_batch = 1000;
        c.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 4};
        c.plan.micro_batch = 3;
      },
      "batch-divisible", "workload.global_batch",
      "1000 is not a multiple of 192 (DP 64 * micro batch 3)", "nearest 960, 1152");
  expect_violation([](Case& c) { c.workload.global_batch = 8; }, "batch-divisible",
                   "workload.global_batch", "8 is not a multiple of 16 (DP 16 * micro batch 1)",
                   "nearest 16");
}

TEST(Constraints, PipelineDepth) {
  Case c;
  c.plan.vpp = 5000;
  const std::vector<Violation> found = violations(c.context());
  const auto depth = std::ranges::find(found, "pipeline-depth", &Violation::rule);
  ASSERT_NE(depth, found.end());
  EXPECT_EQ(depth->path, "vpp");
  EXPECT_EQ(depth->hint, "at most 1024 stages");
}

TEST(Constraints, PassesOfAStep) {
  expect_violation([](Case& c) { c.workload.global_batch = std::int64_t{16} << 24; },
                   "passes-of-a-step", "workload.global_batch",
                   "16777216 microbatches through 16 stages: a step has at most 16777216 passes",
                   "a smaller global batch, or a larger micro batch or DP");
  Case c;
  c.workload.global_batch = std::int64_t{16} << 20;
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, Interleaving) {
  expect_violation(
      [](Case& c) {
        c.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
        c.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
      },
      "interleaving-needs-pipeline", "vpp", "VPP 4 needs a pipeline, but PP is 1",
      "VPP 1, or PP of at least 2");
  expect_violation([](Case& c) { c.workload.global_batch = 48; }, "interleaving-microbatches",
                   "vpp", "interleaving needs at least PP = 4 microbatches, there are 3",
                   "VPP 1, PP of at most 3, or a global batch of at least 64");
}

TEST(Constraints, MicrobatchGroups) {
  const auto with = [](int group, int microbatches) {
    return [=](Case& c) {
      c.plan.microbatch_group = group;
      c.workload.global_batch = 16 * microbatches;
    };
  };
  expect_violation(with(3, 12), "microbatch-group", "microbatch_group",
                   "groups of 3 microbatches: must be between PP = 4 and the 12 microbatches",
                   "allowed, smallest first: 4 6 7 8 12");
  expect_violation(with(16, 12), "microbatch-group", "microbatch_group",
                   "groups of 16 microbatches: must be between PP = 4 and the 12 microbatches",
                   "allowed, smallest first: 4 6 7 8 12");
  expect_violation(with(5, 12), "microbatch-group", "microbatch_group",
                   "groups of 5 leave 2 of 12 microbatches over, fewer than PP = 4",
                   "allowed, smallest first: 4 6 7 8 12");
  expect_violation(with(0, 6), "microbatch-group", "microbatch_group",
                   "groups of 4 leave 2 of 6 microbatches over, fewer than PP = 4",
                   "allowed, smallest first: 6");
  Case c;
  with(7, 12)(c);  // 5 left over, at least PP
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, SequenceParallelUnderExperts) {
  expect_violation([](Case& c) { c.plan.sequence_parallel = false; },
                   "tp-experts-need-sequence-parallel", "sequence_parallel",
                   "TP 2 with EP 16 needs sequence parallelism",
                   "turn sequence_parallel on, or TP 1");
}

TEST(Constraints, ExpertParallelOverlap) {
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.expert = {.etp = 1, .ep = 1, .edp = 64};
      },
      "ep-overlap-needs-ep", "overlap.expert_parallel",
      "overlap of expert-parallel communication needs EP > 1, EP is 1", "");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.vpp = 1;
      },
      "ep-overlap-needs-interleaving", "overlap.expert_parallel",
      "overlap of expert-parallel communication with PP 4 needs VPP > 1",
      "plain 1F1B has no forward to pair with a backward of another microbatch");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.recompute = {Module::moe};
      },
      "ep-overlap-recompute", "recompute",
      "whole-moe recompute excludes overlap of expert-parallel communication",
      "modules inside the MoE layer can be recomputed: moe_act shared_experts");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.recompute_full = true;
      },
      "ep-overlap-recompute", "recompute",
      "full recompute excludes overlap of expert-parallel communication",
      "modules inside the MoE layer can be recomputed: moe_act shared_experts");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.dispatcher = Dispatcher::allgather;
      },
      "ep-overlap-dispatcher", "dispatcher",
      "overlap of expert-parallel communication excludes the allgather dispatcher",
      "alltoall, deepep or hybridep");
  expect_violation([](Case& c) { c.plan.overlap.delay_wgrad = true; }, "delay-wgrad-needs-overlap",
                   "overlap.delay_wgrad", "delayed weight gradients need overlap.expert_parallel",
                   "");
  Case one_stage;
  one_stage.plan.overlap.expert_parallel = true;
  one_stage.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
  one_stage.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
  one_stage.plan.vpp = 1;
  EXPECT_TRUE(violations(one_stage.context()).empty());
}

TEST(Constraints, Recompute) {
  expect_violation([](Case& c) { c.plan.recompute = {Module::moe_act, Module::router}; },
                   "recompute-modules", "recompute", "router cannot be recomputed",
                   "allowed: layernorm mla_up_proj core_attn mlp moe_act shared_experts moe");
  expect_violation(
      [](Case& c) {
        c.plan.recompute_full = true;
        c.plan.recompute = {Module::moe_act};
      },
      "recompute-once", "recompute", "full recompute already contains moe_act",
      "recompute_full, or a list of modules");
  expect_violation([](Case& c) { c.plan.recompute = {Module::mla_up_proj}; }, "recompute-present",
                   "recompute", "test-moe has no mla_up_proj to recompute", "");
  expect_violation(
      [](Case& c) {
        c.model.moe->shared_ffn = 0;
        c.plan.recompute = {Module::shared_experts};
      },
      "recompute-present", "recompute", "test-moe has no shared_experts to recompute", "");
  expect_violation(
      [](Case& c) {
        c.plan.recompute_full = true;
        c.plan.cuda_graph = CudaGraph::attention;
      },
      "recompute-graph", "cuda_graph", "full recompute excludes partial CUDA graphs",
      "none or full_iteration");
}

TEST(Constraints, Sharding) {
  expect_violation([](Case& c) { c.plan.sharding = Sharding::zero3; }, "sharding-pipeline",
                   "sharding",
                   "zero3 needs PP 1, PP is 4: gradients would be reduced once per microbatch",
                   "none or zero1 with a pipeline");
}

}  // namespace
}  // namespace pleat
