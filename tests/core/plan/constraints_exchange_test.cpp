// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages of the rules about host memory, partial recompute and what ranks exchange.
#include <gtest/gtest.h>

#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::expect_violation;

TEST(Constraints, PartialRecompute) {
  expect_violation([](Case& c) { c.plan.recompute_layers = 2; }, "recompute-layers",
                   "recompute_layers",
                   "recompute of the first 2 layers of a chunk needs full recompute",
                   "recompute_full true, or recompute_layers 0");
  expect_violation([](Case& c) { c.plan.recompute_layers = -2; }, "recompute-layers",
                   "recompute_layers", "must be at least 0 (0: all), is -2", "");
  Case fine;
  fine.plan.recompute_full = true;
  fine.plan.recompute_layers = 2;
  EXPECT_TRUE(violations(fine.context()).empty());
  expect_violation(
      [](Case& c) {
        c.plan.recompute = {Module::moe};
        c.plan.cuda_graph = CudaGraph::partial;
      },
      "recompute-moe-graph", "cuda_graph",
      "whole-moe recompute excludes partial CUDA graphs (the router's)",
      "none, attention or full_iteration");
  Case attention;
  attention.plan.recompute = {Module::moe};
  attention.plan.cuda_graph = CudaGraph::attention;
  EXPECT_TRUE(violations(attention.context()).empty());
}

TEST(Constraints, OffloadOfModules) {
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.plan.offload = {Offload::core_attn, Offload::moe_act};
      },
      "offload-present", "offload", "test-moe has no moe_act to offload",
      "expert_fc1 and moe_act are parts of experts");
  expect_violation([](Case& c) { c.plan.offload = {Offload::attn_proj}; },
                   "offload-attention-output", "offload",
                   "attn_proj without core_attn saves nothing: its input is the output of "
                   "core_attn, which the backward pass of core_attn needs",
                   "core_attn attn_proj");
  expect_violation(
      [](Case& c) {
        c.plan.offload = {Offload::expert_fc1};
        c.plan.recompute = {Module::moe};
      },
      "offload-recompute", "offload",
      "expert_fc1 cannot be offloaded where the whole MoE layer is recomputed",
      "recompute without moe, or another offload");
  Case fine;
  fine.plan.offload = {Offload::attn_norm, Offload::core_attn, Offload::attn_proj};
  fine.plan.recompute = {Module::moe};
  EXPECT_TRUE(violations(fine.context()).empty());
}

// One stage, so that whole layers can be offloaded.
void one_stage(Case& c) {
  c.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
  c.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
  c.plan.vpp = 1;
  c.plan.offload_layers = 8;
}

TEST(Constraints, OffloadOfLayers) {
  Case fine;
  one_stage(fine);
  EXPECT_TRUE(violations(fine.context()).empty());
  expect_violation([](Case& c) { c.plan.offload_layers = 8; }, "offload-layers-pipeline",
                   "offload_layers", "offload of whole layers needs PP 1, PP is 4",
                   "a list of modules to offload goes with a pipeline");
  expect_violation(
      [](Case& c) {
        one_stage(c);
        c.plan.offload_layers = 64;
      },
      "offload-layers", "offload_layers",
      "must be from 0 to 63, fewer than the layers, is 64", "");
  expect_violation(
      [](Case& c) {
        one_stage(c);
        c.plan.recompute = {Module::moe_act};
      },
      "offload-layers-alone", "offload_layers", "offload of whole layers excludes recompute", "");
  expect_violation(
      [](Case& c) {
        one_stage(c);
        c.plan.offload = {Offload::core_attn};
      },
      "offload-layers-alone", "offload_layers",
      "offload of whole layers excludes offload of modules", "");
  expect_violation(
      [](Case& c) {
        one_stage(c);
        c.plan.cuda_graph = CudaGraph::attention;
      },
      "offload-layers-graph", "cuda_graph",
      "offload of whole layers excludes partial CUDA graphs", "none or full_iteration");
}

TEST(Constraints, TensorParallelOverlap) {
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.plan.overlap.tensor_parallel = true;
        c.plan.sequence_parallel = false;
      },
      "tp-overlap", "overlap.tensor_parallel",
      "overlap of tensor-parallel communication needs sequence parallelism", "");
  expect_violation(
      [](Case& c) {
        c.plan.attention = {.tp = 1, .cp = 2, .dp = 32, .pp = 4};
        c.plan.overlap.tensor_parallel = true;
      },
      "tp-overlap", "overlap.tensor_parallel",
      "overlap of tensor-parallel communication needs TP > 1, TP is 1", "");
}

TEST(Constraints, SharedExpertOverlap) {
  expect_violation(
      [](Case& c) {
        c.model.moe->shared_ffn = 0;
        c.plan.overlap.shared_expert = true;
      },
      "shared-overlap-present", "overlap.shared_expert",
      "test-moe has no shared expert to overlap", "");
  expect_violation(
      [](Case& c) {
        c.plan.dispatcher = Dispatcher::allgather;
        c.plan.overlap.shared_expert = true;
      },
      "shared-overlap-dispatcher", "dispatcher",
      "overlap of the shared expert excludes the allgather dispatcher",
      "alltoall, deepep or hybridep");
  expect_violation(
      [](Case& c) { c.plan.overlap.shared_expert = c.plan.overlap.expert_parallel = true; },
      "shared-overlap-ep-overlap", "overlap.shared_expert",
      "overlap of the shared expert excludes overlap of expert-parallel communication",
      "the latter hides the shared expert too");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.shared_expert = true;
        c.plan.recompute = {Module::shared_experts};
      },
      "shared-overlap-recompute", "recompute",
      "shared_experts recompute excludes overlap.shared_expert", "");
}

TEST(Constraints, ContextParallelismOverHeads) {
  expect_violation(
      [](Case& c) {
        c.plan.attention = {.tp = 2, .cp = 8, .dp = 4, .pp = 4};
        c.plan.cp_comm = CpComm::all_to_all;
        c.model.attention.kv_groups = 6;
      },
      "cp-heads", "cp_comm",
      "all_to_all splits heads, but 32 heads in 3 kv groups of a TP rank cannot be split over 8 "
      "ranks",
      "p2p or all_gather");
  Case copies;  // 4 kv groups of a TP rank, each on two of 8 ranks
  copies.plan.attention = {.tp = 2, .cp = 8, .dp = 4, .pp = 4};
  copies.plan.cp_comm = CpComm::all_to_all;
  EXPECT_TRUE(violations(copies.context()).empty());
  Case fine;
  fine.plan.cp_comm = CpComm::all_to_all;
  EXPECT_TRUE(violations(fine.context()).empty());
}

TEST(Constraints, SelectedKeysAreGathered) {
  const auto sparse = [](Case& c) {
    c.model.layer_traits.assign(static_cast<std::size_t>(c.model.layers), {.sparse = true});
  };
  expect_violation(sparse, "cp-selected-keys", "cp_comm",
                   "attention over selected keys gathers the keys of all ranks, cp_comm is p2p",
                   "all_gather");
  Case fine;
  sparse(fine);
  fine.plan.cp_comm = CpComm::all_gather;
  EXPECT_TRUE(violations(fine.context()).empty());
}

TEST(Constraints, RecurrencesSplitTheirHeadsOverContext) {
  const auto recurrent = [](Case& c, Mixer mixer, int cp) {
    c.plan.attention = {.tp = 2, .cp = cp, .dp = 32 / cp, .pp = 4};
    c.model.recurrence = {.key_heads = 8, .value_heads = 64, .key_dim = 64, .value_dim = 64};
    c.model.layer_traits.assign(static_cast<std::size_t>(c.model.layers), {.mixer = mixer});
  };
  expect_violation([&](Case& c) { recurrent(c, Mixer::gated_delta_net, 8); }, "mixer-heads",
                   "attention.cp",
                   "a recurrence of 64 heads in 8 groups cannot be split over TP 2 x CP 8",
                   "with TP 2 allowed CP: 1 2 4");
  for (const auto& [mixer, cp] : {std::pair{Mixer::gated_delta_net, 4}, {Mixer::mamba2, 8}}) {
    Case fine;
    recurrent(fine, mixer, cp);
    EXPECT_TRUE(violations(fine.context()).empty());
  }
}

TEST(Constraints, Capacity) {
  expect_violation([](Case& c) { c.workload.pad_to_capacity = true; }, "capacity-padding",
                   "workload.pad_to_capacity", "padding to capacity needs a capacity factor",
                   "capacity_factor 1.0");
  expect_violation(
      [](Case& c) {
        c.workload.capacity_factor = 1.0;
        c.workload.pad_to_capacity = true;
        c.plan.dispatcher = Dispatcher::deepep;
      },
      "capacity-dispatcher", "dispatcher", "deepep does not pad experts to a capacity",
      "alltoall or hybridep");
}

TEST(Constraints, ShardGroups) {
  expect_violation([](Case& c) { c.plan.fsdp_group = 8; }, "fsdp-group", "fsdp_group",
                   "a shard group of 8 needs zero2 or zero3, sharding is zero1", "");
  const auto sharded = [](int group) {
    return [group](Case& c) {
      one_stage(c);
      c.plan.offload_layers = 0;
      c.plan.sharding = Sharding::zero3;
      c.plan.fsdp_group = group;
    };
  };
  expect_violation(sharded(12), "fsdp-group", "fsdp_group",
                   "DP*CP = 128 ranks cannot be split into shard groups of 12",
                   "divisors up to 12: 1 2 4 8");
  expect_violation(sharded(-1), "fsdp-group", "fsdp_group", "must be at least 0 (0: all), is -1",
                   "");
  Case fine;
  sharded(16)(fine);
  EXPECT_TRUE(violations(fine.context()).empty());
}

}  // namespace
}  // namespace pleat
