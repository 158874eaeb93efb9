// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search leaves out for what the runtime is, and that it says so.
#include "planner/space/runtime_rules.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/spec/catalog.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/not_tried.hpp"
#include "planner/space/run_settings.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

const GpuSpec kBlackwell = [] {
  GpuSpec gpu;
  gpu.peak_fp4 = FlopsPerSecond(9e15);
  return gpu;
}();

using namespace test;

// Which orders are tried, and with how many chunks a stage.
std::set<std::pair<PipelineSchedule, int>> orders_of(const SearchConfig& config) {
  std::set<std::pair<PipelineSchedule, int>> found;
  const MeshSpace space = enumerate_meshes(small_problem(), config);
  for (const Mesh& m : space.meshes) {
    if (m.attention.pp > 1)
      found.insert({m.schedule, m.vpp});
    else
      EXPECT_EQ(m.schedule, PipelineSchedule::one_f_one_b);
  }
  return found;
}

TEST(RuntimeRules, OrdersOfThePipelineAreThoseOfTheRuntime) {
  using enum PipelineSchedule;
  ModelSpec dense = small_model();
  dense.moe.reset();
  SearchConfig config = small_search(4);
  config.pin<"pp">() = {1, 2};
  config.pin<"micro-batch">() = {1};
  const std::set<std::pair<PipelineSchedule, int>> plain{
      {one_f_one_b, 1}, {one_f_one_b, 2}, {one_f_one_b, 3}, {one_f_one_b, 4}};
  EXPECT_EQ(orders_of(config), plain);
  ASSERT_EQ(not_tried(dense, small_cluster(), config).size(), 6u);
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[5].what, "gradient buckets of other sizes");
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[4].what,
            "offload of mlp_norm without attn_norm");
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[3].what,
      "optimizer state in host memory between steps");
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[2].what, "recompute and offload by stage");
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[1].what,
      "weights gathered beside the optimizer's step");
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[0].what,
      "schedule zb-h1, zb-v, dualpipe, dualpipe-v");
  config.runtime = Runtime::pleat;
  ASSERT_EQ(not_tried(dense, small_cluster(), config).size(), 2u);  // the fifth of these, and
  EXPECT_EQ(not_tried(dense, small_cluster(), config)[1].what, "a loss in parts");
  auto all = plain;
  all.insert({{zb_h1, 1}, {zb_v, 2}, {dualpipe, 1}, {dualpipe_v, 2}});
  EXPECT_EQ(orders_of(config), all);
  config.runtime = Runtime::megatron;
  config.pin<"schedule">() = {zb_v, dualpipe};
  EXPECT_EQ(orders_of(config),
            (std::set<std::pair<PipelineSchedule, int>>{{zb_v, 2}, {dualpipe, 1}}));
  EXPECT_EQ(not_tried(dense, small_cluster(), config).size(), 5u);
  config.by_stage = false;
  config.pin<"ddp-bucket-size">() = {0};
  config.pin<"gather-beside-step">() = {false};
  config.optimizer_offload = false;
  config.offload_sets = {{}};
  EXPECT_TRUE(not_tried(dense, small_cluster(), config).empty());
}

std::set<std::string> names_not_tried(const SearchConfig& config) {
  std::set<std::string> names;
  for (const NotTried& n : not_tried(small_model(), small_cluster(), config)) names.insert(n.what);
  return names;
}

TEST(RuntimeRules, WhatNoRuntimeHasIsNamed) {
  SearchConfig config = small_search(4);
  config.pin<"schedule">() = {PipelineSchedule::one_f_one_b};
  config.by_stage = false;
  config.optimizer_offload = std::vector<bool>{false, true};
  EXPECT_TRUE(names_not_tried(config).contains("offload of mlp_norm without attn_norm"));
  config.offload_sets = {{}};
  EXPECT_TRUE(names_not_tried(config).contains("weights gathered beside the optimizer's step"));
  config.pin<"gather-beside-step">() = {false};
  EXPECT_TRUE(names_not_tried(config).contains("larger microbatches"));
  config.pin<"micro-batch">() = {1};
  EXPECT_EQ(names_not_tried(config),
            (std::set<std::string>{"dispatcher allgather", "dispatcher hierarchical",
                                   "experts placed by load, copies of busy ones",
                                   "fp8 dispatch and combine", "gradient buckets of other sizes",
                                   "paged stash",
                                   "tile-level overlap"}));
  config.pin<"dispatcher">() = {Dispatcher::alltoall};
  config.numerics.front().precision = Precision::mxfp8;
  config.numerics.front().fp8_combine = true;
  config.paged_stash = {1.1, 1.5};
  config.pin<"tile-overlap">() = {false};
  config.pin<"ddp-bucket-size">() = {0};
  config.pin<"expert-placement">() = ExpertPlacement::in_order;
  EXPECT_EQ(names_not_tried(config), std::set<std::string>{"step on the CPU"});
  config.numerics.front().fp8_params = false;
  EXPECT_TRUE(names_not_tried(config).empty());
}

TEST(RuntimeRules, DispatchersThatAreNotSearchedAreNamed) {
  SearchConfig config = small_search(4);
  ModelSpec model = small_model();
  const auto named = [&](const std::string& cluster) {
    std::set<std::string> names;
    for (const NotTried& n : not_tried(model, load_cluster(cluster), config)) {
      if (n.what.starts_with("dispatcher ")) names.insert(n.what);
    }
    return names;
  };
  const std::set<std::string> any{"dispatcher allgather", "dispatcher hierarchical"};
  const auto with = [&](const char* fused) {
    std::set<std::string> names = any;
    names.insert(fused);
    return names;
  };
  EXPECT_EQ(named("h100-sxm"), with("dispatcher hybridep"));
  EXPECT_EQ(named("gb200-nvl72"), with("dispatcher deepep"));
  EXPECT_EQ(named("a100-sxm"), any);
  model.moe->top_k = 4;
  EXPECT_EQ(named("h100-sxm"),
            (std::set<std::string>{"dispatcher allgather among more than 2 ranks",
                                   "dispatcher hierarchical", "dispatcher hybridep"}));
  EXPECT_EQ(named("a100-sxm"), std::set<std::string>{"dispatcher hierarchical"});
  config.runtime = Runtime::pleat;
  EXPECT_EQ(named("a100-sxm"), std::set<std::string>{});
  config.pin<"dispatcher">() = {Dispatcher::hybridep};
  EXPECT_EQ(named("h100-sxm"), std::set<std::string>{});
}

// Places of the optimizer's state that memory choices have.
std::set<StatePlace> places_of(const SearchConfig& config) {
  ClusterSpec cluster = small_cluster();
  cluster.gpu.memory_bandwidth = BytesPerSecond(1e12);
  std::set<StatePlace> places;
  for (const MemoryChoice& c : memory_choices(small_model(), cluster, config)) {
    places.insert(c.state);
  }
  return places;
}

// The state in host memory between steps: Megatron-LM's dev branch alone has it.
TEST(RuntimeRules, AStepOnTheGpuHasItsStateThereInMegatron) {
  SearchConfig config = small_search(2);
  EXPECT_EQ(places_of(config),
            (std::set<StatePlace>{StatePlace::device, StatePlace::host_stepped}));
  config.optimizer_offload = true;
  EXPECT_EQ(places_of(config), std::set<StatePlace>{StatePlace::host});
  config.optimizer_offload = std::vector<bool>{true, false};
  EXPECT_EQ(places_of(config).count(StatePlace::host), 1u);
  config.optimizer_offload = false;
  EXPECT_EQ(places_of(config).count(StatePlace::host), 0u);
}

// transformer_config and arguments.py:1925, 1919.
TEST(RuntimeRules, MegatronsGraphsOfAttentionExcludeSomeDelayedGradients) {
  ModelSpec model = small_model();
  Plan plan;
  plan.overlap.delay_wgrad = true;
  for (const CudaGraph scope : {CudaGraph::partial, CudaGraph::attention}) {
    plan.cuda_graph = scope;
    model.attention.qkv_bias = false;
    EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
    plan.sharding = Sharding::zero2;
    EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
        "delayed-wgrad-shards-in-graph");
    plan.sharding = Sharding::zero1;
    model.attention.qkv_bias = true;
    EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
        "delayed-wgrad-biases-in-graph");
  }
  plan.cuda_graph = CudaGraph::router;
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
}

// What the exporter would refuse is not found: the search has its rules.
TEST(RuntimeRules, WhatMegatronsExportRefusesIsNotSearched) {
  const auto rule = [](const ModelSpec& model, const Plan& plan, const WorkloadSpec& work = {}) {
    const char* const name = refused_by(Runtime::megatron, model, work, plan, kBlackwell);
    EXPECT_EQ(refused_by(Runtime::pleat, model, work, plan, kBlackwell), nullptr);
    return std::string(name == nullptr ? "" : name);
  };
  ModelSpec model = small_model();
  Plan plan;
  plan.overlap.delay_wgrad = plan.overlap.expert_parallel = true;
  EXPECT_EQ(rule(model, plan), "");
  plan.overlap.tensor_parallel = true;
  EXPECT_EQ(rule(model, plan), "delayed-wgrad-tp-overlap");
  plan.overlap.delay_wgrad = false;
  EXPECT_EQ(rule(model, plan), "");
  plan.precision = Precision::fp32;
  EXPECT_EQ(rule(model, plan), "ep-overlap-precision");
  plan.precision = Precision::bf16;
  model.mtp_layers = 3;
  EXPECT_EQ(rule(model, plan), "ep-overlap-predictions");
  plan.overlap.expert_parallel = false;
  EXPECT_EQ(rule(model, plan), "");
  plan.attention.tp = 2;
  plan.sequence_parallel = false;
  EXPECT_EQ(rule(model, plan), "experts-sequence-parallel");
  plan.sequence_parallel = true;
  plan.expert.etp = 2;
  EXPECT_EQ(rule(model, plan), "");
  model.moe->mlp_bias = true;
  EXPECT_EQ(rule(model, plan), "expert-biases-etp");
  plan.expert = {.etp = 1, .ep = 2, .edp = 1};
  WorkloadSpec drops;
  drops.capacity_factor = 1.25;
  plan.cuda_graph = CudaGraph::partial;
  EXPECT_EQ(rule(model, plan), "");
  EXPECT_EQ(rule(model, plan, drops), "dropped-tokens-in-graph");
  plan.dispatcher = Dispatcher::hybridep;
  EXPECT_EQ(rule(model, plan, drops), "");
  plan.expert.ep = 1;
  EXPECT_EQ(rule(model, plan, drops), "dropped-tokens-in-graph");
  plan.paged_stash = {1.1, 1.5};
  EXPECT_EQ(rule(model, plan), "stash-dispatcher");
}

TEST(RuntimeRules, DelayedScalingExcludesRecomputeOfWhatItScales) {
  Plan plan;
  plan.precision = Precision::fp8_delayed;
  for (const Module m : {Module::moe_act, Module::layernorm}) {
    plan.recompute = {m};
    EXPECT_STREQ(refused_by(Runtime::megatron, small_model(), {}, plan, kBlackwell),
        "delayed-scaling-recompute");
  }
  plan.recompute = {Module::core_attn};
  EXPECT_EQ(refused_by(Runtime::megatron, small_model(), {}, plan, kBlackwell), nullptr);
}

TEST(RuntimeRules, MegatronHasAllLogitsAtOnce) {
  Plan plan;
  plan.loss_chunks = 8;
  EXPECT_STREQ(refused_by(Runtime::megatron, small_model(), {}, plan, kBlackwell),
               "loss-in-parts");
  EXPECT_EQ(refused_by(Runtime::pleat, small_model(), {}, plan, kBlackwell), nullptr);
  EXPECT_NE(why_refused("loss-in-parts").find("loss_chunks 1"), std::string_view::npos);
}

// Kernels that read their sizes on the device are Blackwell's.
TEST(RuntimeRules, HopperHasNoGraphOfTheWholeIterationWithFreeSizes) {
  ModelSpec model = small_model();
  Plan plan;
  plan.cuda_graph = CudaGraph::full_iteration;
  plan.dispatcher = Dispatcher::hybridep;
  EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
      "graph-of-unknown-sizes");  // EP 1: nobody to send to, so its all-to-all
  plan.expert.ep = 8;
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
  GpuSpec hopper = kBlackwell;
  hopper.peak_fp4 = {};
  EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, hopper), "graph-of-unknown-sizes");
  model.moe.reset();
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, hopper), nullptr);
}

// Megatron's rank capacity, which fixes sizes before routing does, is HybridEP's
// (transformer_config.py:1870).
TEST(RuntimeRules, WhatRoutingDecidesIsInNoGraphOfTheWholeIteration) {
  ModelSpec model = small_model();
  WorkloadSpec padded;
  padded.capacity_factor = 1;
  padded.pad_to_capacity = true;
  Plan plan;
  plan.expert.ep = 8;
  plan.cuda_graph = CudaGraph::full_iteration;
  for (const Dispatcher d : {Dispatcher::allgather, Dispatcher::alltoall, Dispatcher::deepep}) {
    plan.dispatcher = d;
    EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
        "graph-of-unknown-sizes");
    EXPECT_EQ(refused_by(Runtime::megatron, model, padded, plan, kBlackwell), nullptr);
    EXPECT_EQ(refused_by(Runtime::pleat, model, {}, plan, kBlackwell), nullptr);
  }
  plan.paged_stash = {1.1, 1.5};
  EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
      "graph-of-unknown-sizes");
  plan.cuda_graph = CudaGraph::none;
  EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), "stash-dispatcher");
  EXPECT_EQ(refused_by(Runtime::pleat, model, {}, plan, kBlackwell), nullptr);
  plan.dispatcher = Dispatcher::hybridep;
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
  plan.cuda_graph = CudaGraph::full_iteration;
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
  model.moe.reset();
  plan.dispatcher = Dispatcher::alltoall;
  plan.paged_stash = {};
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
  for (const char* rule : {"graph-of-unknown-sizes", "stash-dispatcher"}) {
    EXPECT_NE(why_refused(rule).find("hybridep"), std::string_view::npos);
  }
}

// Graphs of a part of a layer alone are the user's choice; what bounds both parts captures both.
TEST(RuntimeRules, GraphsOfOnePartAreTriedIfAskedFor) {
  const auto scopes = [](const SearchConfig& config) {
    std::set<CudaGraph> found;
    for (const Setting& s : settings(small_model(), small_cluster(), config)) found.insert(s.graph);
    return found;
  };
  SearchConfig config = small_search(2);
  EXPECT_EQ(scopes(config), (std::set<CudaGraph>{CudaGraph::none, CudaGraph::partial}));
  config.pin<"cuda-graph">() = std::vector<CudaGraph>{CudaGraph::router, CudaGraph::attention};
  EXPECT_EQ(scopes(config), (std::set<CudaGraph>{CudaGraph::attention, CudaGraph::router}));
  const auto all = settings(small_model(), small_cluster(), config);
  EXPECT_EQ(least_work(all, Runtime::megatron).front().graph, CudaGraph::partial);
}

// core/transformer/pipeline_parallel_layer_layout.py:86.
TEST(RuntimeRules, MegatronsFirstRankHasNoPredictionBlocks) {
  ModelSpec model = small_model();
  model.mtp_layers = 1;
  Plan plan;
  plan.attention.pp = 2;
  plan.layout = "Et*6m|L";
  EXPECT_FALSE(builds_layout(Runtime::megatron, model, plan));
  EXPECT_TRUE(builds_layout(Runtime::pleat, model, plan));
  plan.layout = "Et*6|mL";
  EXPECT_TRUE(builds_layout(Runtime::megatron, model, plan));
}

// Megatron-LM training/arguments.py:1889; its issue 1986.
TEST(RuntimeRules, MegatronsStepOnTheCpuNeedsPlainWeights) {
  SearchConfig config = small_search(2);
  config.numerics.front().precision = Precision::mxfp8;
  config.optimizer_offload = std::vector<bool>{false, true};
  const std::set<StatePlace> two{StatePlace::device, StatePlace::host};
  auto three = two;
  three.insert(StatePlace::host_stepped);
  EXPECT_EQ(places_of(config), two);
  for (const Precision p : {Precision::bf16, Precision::fp8_delayed, Precision::fp8_block}) {
    config.numerics.front().precision = p;
    EXPECT_EQ(places_of(config), three) << name_of(p);
  }
  config.numerics.front() = {.precision = Precision::fp8, .optimizer = {}, .fp8_params = false};
  EXPECT_EQ(places_of(config), three);

  const ModelSpec model = small_model();
  Plan plan;
  plan.optimizer.cpu_offload = 1;
  plan.sharding = Sharding::zero3;
  EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
      "cpu-optimizer-sharding");
  EXPECT_EQ(refused_by(Runtime::pleat, model, {}, plan, kBlackwell), nullptr);
  plan.sharding = Sharding::zero1;
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
  plan.precision = Precision::fp8;
  EXPECT_STREQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell),
      "cpu-optimizer-fp8-weights");
  plan.optimizer = {};
  EXPECT_EQ(refused_by(Runtime::megatron, model, {}, plan, kBlackwell), nullptr);
}

}  // namespace
}  // namespace pleat
