// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whole estimates: an exact one by hand, and what moves them.
#include "simulator/estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::LayerMaker;
using test::make_plan;
using test::part_of;
using test::round_cluster;
using test::small_model;

// One stage, one layer of 2 ms forward and 4 ms backward, three microbatches; zeroing writes 1 GB
// (1 ms), the optimizer moves 7 x 1 GB (7 ms), 5 ms of step overhead.
Program one_layer_program() {
  Program p;
  p.model = small_model();
  p.workload = {.seq_len = 64, .global_batch = 3};
  p.plan.precision = Precision::fp32;
  LayerMaker m;
  const TensorId a = m.tensor(100), b = m.tensor(300);
  m.gemm(Pass::forward, "f", 2, {}, {a});
  m.gemm(Pass::backward, "b", 4, {a}, {b});
  compute_lifetimes(m.layer);
  StageProgram stage;
  stage.layers = {m.layer};
  stage.chunks = {{{LayerInstance{.program = 0, .layer = LayerIndex{0}, .slots = {}}}}};
  stage.order = pipeline_order({.pp = 1, .vpp = 1, .microbatches = 3}, Stage{0});
  constexpr std::int64_t kElements = 250'000'000;
  const auto state = [&](TensorClass cls) {
    stage.state.push_back({"s", cls, DType::fp32, {{kElements}}});
    return TensorId{static_cast<int>(stage.state.size()) - 1};
  };
  BucketState bucket;
  bucket.elements = bucket.shard_elements = kElements;
  bucket.weights = bucket.main_params = state(TensorClass::weight);
  bucket.gradients = state(TensorClass::gradient);
  bucket.exp_avg = state(TensorClass::optimizer_state);
  bucket.exp_avg_sq = state(TensorClass::optimizer_state);
  stage.buckets = {bucket};
  Op zero;
  zero.kind = OpKind::zero;
  zero.phase = Phase::step;
  zero.out = {bucket.gradients};
  stage.prologue = {zero};
  Op adamw;
  adamw.kind = OpKind::adamw;
  adamw.phase = Phase::step;
  adamw.in = {bucket.gradients, bucket.exp_avg, bucket.exp_avg_sq, bucket.weights};
  adamw.out = {bucket.exp_avg, bucket.exp_avg_sq, bucket.weights};
  stage.epilogue = {adamw};
  p.stages = {stage};
  return p;
}

TEST(Estimate, ByHand) {
  const Program program = one_layer_program();
  const ClusterSpec cluster = round_cluster();
  Profile profile = ideal_profile();
  profile.step_overhead = Seconds(5e-3);
  const StepEstimate e = estimate(program, cluster, profile);
  EXPECT_NEAR(e.step.base(), 3 * 6e-3 + 1e-3 + 7e-3 + 5e-3, 1e-12);
  EXPECT_NEAR(part_of(e.parts, CostClass::gemm).base(), 18e-3, 1e-12);
  EXPECT_NEAR(part_of(e.parts, CostClass::optimizer).base(), 8e-3, 1e-12);
  EXPECT_NEAR(part_of(e.parts, CostClass::host).base(), 5e-3, 1e-12);
  EXPECT_NEAR(part_of(e.parts, CostClass::bubble).base(), 0, 1e-12);
  EXPECT_NEAR(e.low.base(), 0.9 * e.step.base(), 1e-12);
  EXPECT_NEAR(e.high.base(), 1.1 * e.step.base(), 1e-12);
  EXPECT_EQ(e.source, SourceClass::fitted);
  EXPECT_NEAR(e.tokens_per_second, 3 * 64 / e.step.base(), 1e-6);
  const double flops = model_flops_per_token(program.model, 64).base();
  EXPECT_NEAR(e.mfu, flops * e.tokens_per_second / 1e12, 1e-12);
  EXPECT_EQ(e.mfu_of_precision, e.mfu);
  ASSERT_EQ(e.memory.size(), 1u);
  EXPECT_EQ(e.memory[0].weights, 1'000'000'000);
  EXPECT_EQ(e.memory[0].gradients, 1'000'000'000);
  EXPECT_EQ(e.memory[0].optimizer, 2'000'000'000);
  EXPECT_EQ(e.memory[0].activations, 4 * (100 + 300));
  EXPECT_EQ(e.memory[0].runtime, 0);
  EXPECT_EQ(e.peak_bytes(), 4'000'000'000 + 1600);
  EXPECT_TRUE(e.fits);
  ClusterSpec little = cluster;
  little.gpu.memory = Bytes(4e9);
  EXPECT_FALSE(estimate(program, little, profile).fits);
}

// Over the peak of what the products read; without one, of what the GPU computes it in.
TEST(Estimate, UtilisationOfThePrecisionThatRan) {
  Program program = one_layer_program();
  ClusterSpec cluster = round_cluster();
  cluster.gpu.peak_fp8 = FlopsPerSecond(2e12);
  cluster.gpu.peak_fp4 = FlopsPerSecond(5e12);
  const std::tuple<Precision, DType, double> cases[] = {{Precision::bf16, DType::bf16, 1},
                                                        {Precision::fp16, DType::bf16, 1},
                                                        {Precision::fp8_block, DType::fp8, 2},
                                                        {Precision::mxfp8, DType::mxfp8, 2},
                                                        {Precision::nvfp4, DType::nvfp4, 5}};
  for (const auto& [precision, products, times] : cases) {
    program.plan.precision = precision;
    const StepEstimate e = estimate(program, cluster, ideal_profile());
    EXPECT_EQ(e.products, products);
    EXPECT_GT(e.mfu, 0);
    EXPECT_NEAR(e.mfu_of_precision * times, e.mfu, 1e-12);
    EXPECT_EQ(has_narrow_mfu(e), times > 1);
  }
  cluster.gpu.peak_fp4 = FlopsPerSecond(0);
  EXPECT_FALSE(has_narrow_mfu(estimate(program, cluster, ideal_profile())));
  program.plan.precision = Precision::fp32;
  const StepEstimate e = estimate(program, cluster, ideal_profile());
  EXPECT_EQ(e.products, DType::fp32);
  EXPECT_FALSE(has_narrow_mfu(e));
}

TEST(Estimate, EpilogueScratchCanBeThePeak) {
  Program program = one_layer_program();
  StageProgram& stage = program.stages[0];
  stage.state.push_back({"scratch", TensorClass::step_scratch, DType::fp32, {{1000}}});
  stage.step_lives = {{TensorId{4}, 0, 0}};
  const RoutedCount none = [](MicroBatch, LayerIndex) -> std::int64_t { return 0; };
  EXPECT_EQ(peak_live_bytes(stage, none), 4'000'000'000 + 4000);
  EXPECT_EQ(estimate(program, round_cluster(), ideal_profile()).peak_bytes(),
            4'000'000'000 + 4000);
}

TEST(Estimate, MoreRoutedTokensTakeMoreTimeAndMemory) {
  const Plan plan = make_plan({.dp = 4}, {.ep = 4});
  auto run = [&](double imbalance) {
    const WorkloadSpec workload{.seq_len = 32, .global_batch = 32, .routing = Routing::natural,
                                .imbalance = imbalance};
    return estimate(compile(small_model(), workload, plan, Runtime::pleat), round_cluster(),
                    ideal_profile());
  };
  const StepEstimate even = run(1.0), skewed = run(1.5);
  EXPECT_GT(skewed.step, even.step);
  EXPECT_GT(skewed.peak_bytes(), even.peak_bytes());
}

TEST(Estimate, StragglersStretchThePipeline) {
  Program program = one_layer_program();
  const ClusterSpec cluster = round_cluster();
  const StepEstimate alone = estimate(program, cluster, ideal_profile());
  program.workload.straggler_slowdown = 0.1;
  const StepEstimate slow = estimate(program, cluster, ideal_profile());
  // Zeroing and three microbatches end after 19 ms.
  EXPECT_NEAR((slow.step - alone.step).base(), 1.9e-3, 1e-12);
  EXPECT_NEAR(part_of(slow.parts, CostClass::bubble).base(), 1.9e-3, 1e-12);
}

// 64 GPUs are 8 hosts, one of which is the slowest; on a single host nobody waits.
TEST(Estimate, TheSlowestOfManyHostsStretchesThePipeline) {
  Profile profile = ideal_profile();
  profile.slowest_host = 0.01;
  ClusterSpec cluster = round_cluster();
  const WorkloadSpec workload{.straggler_slowdown = 0.02};
  cluster.gpus_per_node = 8;
  EXPECT_NEAR(slowest_excess(workload, profile, cluster, 64), 0.02 + 0.01 * std::log(8.0), 1e-15);
  EXPECT_EQ(slowest_excess(workload, profile, cluster, 4), 0.02);
  profile.slowest_host_from = 2;
  EXPECT_NEAR(slowest_excess(workload, profile, cluster, 64), 0.02 + 0.01 * std::log(4.0), 1e-15);
  profile.slowest_host_from = 1;

  cluster.gpus_per_node = 1;
  const WorkloadSpec batch{.seq_len = 32, .global_batch = 32};
  const auto step = [&](double excess) {
    profile.slowest_host = excess;
    return estimate(compile(small_model(), batch, make_plan({.dp = 4}, {.ep = 4}), Runtime::pleat),
                    cluster, profile);
  };
  const StepEstimate even = step(0), slow = step(0.01);
  EXPECT_GT(slow.step, even.step);
  EXPECT_NEAR((slow.step - even.step).base(), (part_of(slow.parts, CostClass::bubble) -
                                               part_of(even.parts, CostClass::bubble)).base(),
              1e-15);
}

// Two copies of every stage's weights; their gradients and optimizer shards are shared.
TEST(Estimate, DualPipeHoldsTwoStages) {
  const WorkloadSpec workload{.seq_len = 32, .global_batch = 32};
  Plan plan = make_plan({.dp = 2, .pp = 2}, {.ep = 2});
  const auto memory = [&](PipelineSchedule schedule) {
    plan.schedule = schedule;
    return estimate(compile(small_model(), workload, plan, Runtime::pleat), round_cluster(),
                    ideal_profile())
        .memory;
  };
  const auto one = memory(PipelineSchedule::one_f_one_b), two = memory(PipelineSchedule::dualpipe);
  const auto weights = [](const auto& m) { return m[0].weights + m[1].weights; };
  EXPECT_NEAR(static_cast<double>(weights(two)), 2.0 * static_cast<double>(weights(one)), 64);
  EXPECT_EQ(two[0].weights, two[1].weights);
  const auto optimizer = [](const auto& m) { return m[0].optimizer + m[1].optimizer; };
  EXPECT_NEAR(static_cast<double>(optimizer(two)), static_cast<double>(optimizer(one)), 128);
}

TEST(Estimate, WalkedPeakFollowsTheRecordedCounts) {
  const Program p = compile(small_model(), {.seq_len = 32, .global_batch = 8},
                            make_plan({.dp = 4}, {.ep = 4}), Runtime::pleat);
  const auto peak = [&](std::int64_t hot) {
    return peak_live_bytes(p.stages[0], [=](MicroBatch mb, LayerIndex layer) {
      EXPECT_GE(layer.value, 1);  // only MoE layers are asked for
      return mb.value == 1 && layer.value == 2 ? hot : std::int64_t{64};
    });
  };
  EXPECT_LT(peak(64), peak(96));
  EXPECT_LT(peak(96), peak(192));
}

TEST(Estimate, JsonNamesEveryPart) {
  const Program program = one_layer_program();
  const Profile profile = ideal_profile();
  const ClusterSpec cluster = round_cluster();
  const StepEstimate e = estimate(program, cluster, profile);
  const std::string json = estimate_json(e, program, cluster, profile).dump();
  for (const char* word : {"\"step_s\": 0.026", "\"bubble\": ", "\"peak_bytes\": 4000001600"}) {
    EXPECT_NE(json.find(word), std::string::npos) << word << "\n" << json;
  }
}

// All ranks of a TP group hold what is sent: each sends its half, the receivers gather it inside.
TEST(Estimate, SendsWithoutSequenceParallelismAreShared) {
  const ClusterSpec cluster = round_cluster();
  Plan plan;
  plan.precision = Precision::bf16;
  plan.sharding = Sharding::none;
  plan.attention = {.tp = 2, .cp = 1, .dp = 2, .pp = 2};
  plan.expert = {.etp = 1, .ep = 2, .edp = 2};
  const auto transfer = [&](Runtime runtime, bool sequence_parallel) {
    plan.sequence_parallel = sequence_parallel;
    const WorkloadSpec workload{.seq_len = 64, .global_batch = 8};
    const Program p = compile(small_model(), workload, plan, runtime);
    Seconds slowest;
    for (const auto& stage : record_stages(p, view_cluster(cluster, plan), ideal_profile())) {
      slowest = std::max(slowest, stage->transfer);
    }
    return slowest.base();
  };
  const double bytes = 2 * 64 * 64;  // of S h in bf16; ranks 0 and 4 lie in two nodes, 10 GB/s
  EXPECT_DOUBLE_EQ(transfer(Runtime::megatron, true), bytes / 2 / 10e9);
  EXPECT_DOUBLE_EQ(transfer(Runtime::megatron, false), bytes / 2 / 10e9 + bytes / 2 / 100e9);
  EXPECT_DOUBLE_EQ(transfer(Runtime::pleat, false), bytes / 10e9);
}

}  // namespace
}  // namespace pleat
