// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Words of published runs as values of a plan.
#include "validation/run_words.hpp"

#include <gtest/gtest.h>

#include "core/spec/expert_load.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

TEST(RunWords, Precisions) {
  WordProblems problems;
  EXPECT_EQ(precision_of_word("fp8-current", problems), Precision::fp8);
  EXPECT_EQ(precision_of_word("fp8", problems), Precision::fp8);
  EXPECT_EQ(precision_of_word("fp8-delayed", problems), Precision::fp8_delayed);
  EXPECT_EQ(precision_of_word("fp8-block", problems), Precision::fp8_block);
  EXPECT_EQ(precision_of_word("nvfp4", problems), Precision::nvfp4);
  EXPECT_TRUE(problems.unsupported.empty());
  static_cast<void>(precision_of_word("int4", problems));
  EXPECT_EQ(problems.unsupported, std::vector<std::string>{"precision int4"});
}

TEST(RunWords, Shardings) {
  WordProblems problems;
  const auto is = [&](const char* word, Sharding expected) {
    EXPECT_EQ(sharding_of_word(word, problems), expected) << word;
  };
  is("ddp+distributed_optimizer", Sharding::zero1);
  is("ddp, no distributed optimizer", Sharding::none);
  is("fsdp", Sharding::zero3);
  is("megatron_fsdp:optim_grads_params, nccl_ub", Sharding::zero3);
  is("megatron_fsdp:optim_grads", Sharding::zero2);
  is("deepspeed zero-3", Sharding::zero3);
  EXPECT_TRUE(problems.unsupported.empty());
}

TEST(RunWords, GraphsAndDispatchers) {
  WordProblems problems;
  EXPECT_EQ(cuda_graph_of_word("none"), CudaGraph::none);
  EXPECT_EQ(cuda_graph_of_word("local:full_iteration"), CudaGraph::full_iteration);
  EXPECT_EQ(cuda_graph_of_word("transformer_engine:attn+moe_router"), CudaGraph::partial);
  EXPECT_EQ(cuda_graph_of_word("transformer_engine:attn"), CudaGraph::attention);
  EXPECT_EQ(cuda_graph_of_word("local (enable_cuda_graph)"), CudaGraph::partial);
  EXPECT_EQ(cuda_graph_of_word("transformer_engine:moe_router+moe_preprocess"), CudaGraph::router);
  EXPECT_EQ(dispatcher_of_word("hybridep", problems), Dispatcher::hybridep);
  EXPECT_EQ(cp_comm_of_word("a2a", problems), CpComm::all_to_all);
  EXPECT_TRUE(problems.notes.empty());
  EXPECT_EQ(cp_comm_of_word("a2a+p2p", problems), CpComm::a2a_p2p);
  EXPECT_EQ(cp_comm_of_word("ulysses+ring", problems), CpComm::p2p);
  EXPECT_EQ(problems.notes.size(), 1u);
}

TEST(RunWords, Recompute) {
  WordProblems problems;
  Plan plan;
  apply_recompute_words({"selective", {"norm", "moe_act", "mhc"}, std::nullopt}, plan, problems);
  EXPECT_EQ(plan.recompute, (std::set<Module>{Module::layernorm, Module::moe_act}));
  EXPECT_EQ(problems.notes, std::vector<std::string>{"recompute of mhc is left out"});
  Plan full;
  apply_recompute_words({"full", {}, 1}, full, problems);  // one layer a unit: all of them
  EXPECT_TRUE(full.recompute_full);
  EXPECT_EQ(full.recompute_layers, 0);
}

TEST(RunWords, Offload) {
  WordProblems problems;
  Plan plan;
  apply_offload_words({"fine_grained:expert_fc1+moe_act"}, plan, problems);
  EXPECT_EQ(plan.offload, (std::set<Offload>{Offload::expert_fc1, Offload::moe_act}));
  apply_offload_words({"cpu_activation_offload:40_layers"}, plan, problems);
  EXPECT_EQ(plan.offload_layers, 40);
  apply_offload_words({"none"}, plan, problems);
  EXPECT_TRUE(problems.notes.empty());
  apply_offload_words({"swapped_to_disk"}, plan, problems);
  EXPECT_EQ(problems.notes, std::vector<std::string>{"swapped_to_disk is left out"});
  apply_offload_words({"moe_paged_stash(cpu_factor=1.0)"}, plan, problems);
  EXPECT_EQ(plan.paged_stash, (PagedStash{1.1, 1.5}));
  apply_offload_words({"moe_paged_stash(cpu_factor=0.8,cuda_factor=1.0,rank_capacity=1.2)"}, plan,
                      problems);
  EXPECT_EQ(plan.paged_stash, (PagedStash{1.0, 1.2}));
  EXPECT_EQ(problems.notes.size(), 1u);
}

TEST(RunWords, Routing) {
  const ModelSpec model = test::small_model();
  const auto read = [&](const char* words, const ModelSpec& of) {
    WorkloadSpec w;
    apply_routing_words(words, of, w);
    return w;
  };
  EXPECT_EQ(read("token dropping, capacity factor 1", model).capacity_factor, 1.0);
  EXPECT_FALSE(read("token dropping, capacity factor 1", model).pad_to_capacity);
  EXPECT_EQ(read("token drop, capacity_factor=1.25 padded", model).capacity_factor, 1.25);
  EXPECT_TRUE(read("token drop, capacity_factor=1.25 padded", model).pad_to_capacity);
  EXPECT_EQ(read("forced", model), WorkloadSpec{});
}

// Of random weights: a bias evens the loads out soon, nothing else does.
TEST(RunWords, NaturalRoutingIsAsUnevenAsItsRouter) {
  ModelSpec model = test::small_model();
  const auto spread = [&](const char* words) {
    WorkloadSpec w;
    apply_routing_words(words, model, w);
    EXPECT_EQ(w.routing, Routing::natural) << words;
    return w.expert_spread;
  };
  model.moe->expert_bias = false;
  EXPECT_EQ(spread("natural"), kUntrainedSpread);
  EXPECT_EQ(spread("aux-loss"), kAuxLossSpread);
  model.moe->expert_bias = true;
  EXPECT_EQ(spread("natural"), kAuxLossFreeSpread);
  EXPECT_EQ(spread("untrained"), kUntrainedSpread);
}

TEST(RunWords, OptimizerTypes) {
  Plan plain;
  apply_optimizer_words({}, {}, plain);
  EXPECT_EQ(plain.optimizer, OptimizerPlan{});
  EXPECT_FALSE(plain.fp8_params);  // off unless it is said
  OptimizerWords words;
  words.exp_avg = words.exp_avg_sq = "bfloat16";
  words.grad_reduce_fp32 = false;
  Plan unaware;  // types of moments count with the precision-aware optimizer only
  apply_optimizer_words(words, {}, unaware);
  EXPECT_EQ(unaware.optimizer.exp_avg, DType::fp32);
  EXPECT_EQ(unaware.optimizer.main_grads, DType::bf16);
  words.precision_aware = true;
  words.fp8_param_gather = true;
  Plan aware;
  apply_optimizer_words(words, {}, aware);
  EXPECT_EQ(aware.optimizer.exp_avg, DType::bf16);
  EXPECT_TRUE(aware.fp8_params);
  Plan recipe;
  apply_optimizer_words({}, {.narrow_gradients = true, .fp8_params = true}, recipe);
  EXPECT_EQ(recipe.optimizer.main_grads, DType::bf16);
  EXPECT_TRUE(recipe.fp8_params);
}

}  // namespace
}  // namespace pleat
