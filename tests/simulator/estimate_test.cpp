// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whole estimates: an exact one by hand, then properties of compiled programs.
#include "simulator/estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/program/step_walk.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::LayerMaker;
using test::part_of;
using test::round_cluster;
using test::small_model;
using test::total_of;

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

struct PlanCase {
  const char* name;
  Plan plan;
};

Plan make_plan(AttentionMapping a, ExpertMapping e, int vpp = 1) {
  Plan plan;
  plan.attention = a;
  plan.expert = e;
  plan.vpp = vpp;
  return plan;
}

std::vector<PlanCase> plan_cases() {
  std::vector<PlanCase> cases = {
      {"one_rank", make_plan({}, {})},
      {"ep4_over_dp4", make_plan({.dp = 4}, {.ep = 4})},
      {"tp2_ep2", make_plan({.tp = 2, .dp = 2}, {.ep = 2, .edp = 2})},
      {"pp2_ep2", make_plan({.dp = 2, .pp = 2}, {.ep = 2})},
      {"pp2_vpp2", make_plan({.dp = 2, .pp = 2}, {.ep = 2}, 2)},
      {"pp4", make_plan({.pp = 4}, {})},
  };
  PlanCase recompute = cases[1];
  recompute.name = "ep4_recompute";
  recompute.plan.recompute = {Module::moe_act};
  cases.push_back(recompute);
  PlanCase overlap = cases[4];
  overlap.name = "pp2_vpp2_overlap";
  overlap.plan.overlap.expert_parallel = true;
  cases.push_back(overlap);
  const auto add = [&cases](const char* name, Plan plan, auto change) {
    change(plan);
    cases.push_back({name, plan});
  };
  const Plan two = cases[3].plan, four = cases[5].plan, tp = cases[2].plan, ep = cases[1].plan;
  add("zb_h1", four, [](Plan& p) { p.schedule = PipelineSchedule::zb_h1; });
  add("zb_v", two, [](Plan& p) {
    p.schedule = PipelineSchedule::zb_v;
    p.vpp = 2;
  });
  add("zb_h1_tp_recompute", make_plan({.tp = 2, .pp = 2}, {.ep = 2}), [](Plan& p) {
    p.schedule = PipelineSchedule::zb_h1;
    p.recompute = {Module::layernorm, Module::moe_act};
  });
  add("dualpipe", two, [](Plan& p) { p.schedule = PipelineSchedule::dualpipe; });
  add("dualpipe_overlap", two, [](Plan& p) {
    p.schedule = PipelineSchedule::dualpipe;
    p.overlap.expert_parallel = true;
  });
  add("dualpipe_v", two, [](Plan& p) {
    p.schedule = PipelineSchedule::dualpipe_v;
    p.vpp = 2;
  });
  const Plan cp = make_plan({.cp = 2, .dp = 2}, {.ep = 2, .edp = 2});
  add("cp_ring", cp, [](Plan&) {});
  add("cp_heads", cp, [](Plan& p) { p.cp_comm = CpComm::all_to_all; });
  add("cp_heads_and_ring", make_plan({.cp = 4}, {.ep = 2, .edp = 2}), [](Plan& p) {
    p.cp_comm = CpComm::a2a_p2p;
    p.cp_a2a = 2;
  });
  add("instances", ep, [](Plan& p) {
    p.expert = {.ep = 2, .edp = 2};
    p.optimizer_instances = 2;
  });
  add("shard_group", ep, [](Plan& p) {
    p.expert = {.ep = 2, .edp = 2};
    p.sharding = Sharding::zero3;
    p.fsdp_group = 2;
  });
  add("allgather", ep, [](Plan& p) { p.dispatcher = Dispatcher::allgather; });
  add("allgather_etp", tp, [](Plan& p) {
    p.expert = {.etp = 2, .ep = 2};
    p.dispatcher = Dispatcher::allgather;
  });
  add("hierarchical", ep, [](Plan& p) { p.dispatcher = Dispatcher::hierarchical; });
  add("tiles", ep, [](Plan& p) { p.overlap.tile_level = true; });
  add("tiles_allgather", ep, [](Plan& p) {
    p.overlap.tile_level = true;
    p.dispatcher = Dispatcher::allgather;
  });
  add("stash", ep, [](Plan& p) { p.paged_stash = {1.0, 1.5}; });
  add("stash_zb_h1", make_plan({.dp = 2, .pp = 2}, {.ep = 2}), [](Plan& p) {
    p.paged_stash = {1.25, 1.5};
    p.schedule = PipelineSchedule::zb_h1;
  });
  add("fp8_exchange", ep, [](Plan& p) { p.fp8_dispatch = p.fp8_combine = true; });
  return cases;
}

class CompiledPlan : public testing::TestWithParam<PlanCase> {
 protected:
  [[nodiscard]] Program program(Runtime runtime = Runtime::pleat) const {
    return compile(small_model(), {.seq_len = 32, .global_batch = 32}, GetParam().plan, runtime);
  }
};

TEST_P(CompiledPlan, PartsAddUpToTheStep) {
  for (Runtime runtime : {Runtime::pleat, Runtime::megatron}) {
    Profile profile = ideal_profile();
    profile.step_overhead = Seconds(1e-6);
    const StepEstimate e = estimate(program(runtime), round_cluster(), profile);
    EXPECT_GT(e.step.base(), 0);
    EXPECT_NEAR(total_of(e.parts), e.step.base(), 1e-9 * e.step.base());
    for (Seconds s : e.parts) EXPECT_GE(s.base(), -1e-9 * e.step.base());
    for (const StageTime& s : e.stages) {
      EXPECT_NEAR((s.busy + s.bubble).base(), e.step.base(), 1e-9 * e.step.base());
    }
    for (const StageMemory& m : e.memory) {
      EXPECT_EQ(m.weights + m.gradients + m.optimizer + m.activations + m.runtime, m.peak);
    }
  }
}

// The fast replay over chunks against the walk the executor makes.
TEST_P(CompiledPlan, ReplayedPeakIsTheWalkedPeak) {
  if (GetParam().plan.overlap.expert_parallel) return;  // the executor runs no pairs
  const Program p = program();
  const StepEstimate e = estimate(p, round_cluster(), ideal_profile());
  const Binding routed = routed_tokens(p.model, p.workload, p.plan);
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    const RoutedCount same = [=](MicroBatch, LayerIndex) { return RoutedRows(routed); };
    EXPECT_EQ(peak_live_bytes(p.stages[s], same), e.memory[s].peak) << "stage " << s;
  }
}

// Whatever is born in the slots dies in them: the step starts from the same bytes again.
TEST_P(CompiledPlan, NoActivationOutlivesTheSlots) {
  const Program p = program();
  const ClusterSpec cluster = round_cluster();
  const StageRecords stages = record_stages(p, view_cluster(cluster, p.plan), ideal_profile());
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    std::int64_t net = 0;
    for (const Slot& slot : p.stages[s].order) {
      net += stages[s]->costs.of(slot).memory.net;
    }
    EXPECT_EQ(net, 0) << "stage " << s;
  }
}

TEST_P(CompiledPlan, FasterHardwareIsNeverSlower) {
  const Program p = program(Runtime::megatron);
  const Profile profile = ideal_profile();
  const double before = estimate(p, round_cluster(), profile).step.base();
  auto faster = [&](auto change) {
    ClusterSpec cluster = round_cluster();
    change(cluster);
    return estimate(p, cluster, profile).step.base();
  };
  const double limit = before * (1 + 1e-12);
  EXPECT_LE(faster([](ClusterSpec& c) { c.tiers[0].bandwidth *= 2; }), limit);
  EXPECT_LE(faster([](ClusterSpec& c) { c.tiers[1].bandwidth *= 2; }), limit);
  EXPECT_LT(faster([](ClusterSpec& c) { c.gpu.memory_bandwidth *= 2; }), before);
  EXPECT_LE(faster([](ClusterSpec& c) { c.gpu.peak_bf16 *= 2; }), limit);
}

TEST_P(CompiledPlan, MemoryGrowsWithTheMicrobatch) {
  Plan plan = GetParam().plan;
  const WorkloadSpec workload{.seq_len = 32, .global_batch = 64};
  std::int64_t before = 0;
  for (int micro_batch : {1, 2, 4}) {
    plan.micro_batch = micro_batch;
    const StepEstimate e = estimate(compile(small_model(), workload, plan, Runtime::pleat),
                                    round_cluster(), ideal_profile());
    EXPECT_GT(e.peak_bytes(), before);
    before = e.peak_bytes();
  }
}

TEST_P(CompiledPlan, TraceHasEveryOpOnceAndEndsWithTheStep) {
  const Program p = program();
  const Trace trace = predicted_trace(p, round_cluster(), ideal_profile(), 8);
  const StepEstimate e = estimate(p, round_cluster(), ideal_profile());
  EXPECT_DOUBLE_EQ(trace.step_s, e.step.base());
  EXPECT_EQ(trace.peak_bytes, e.peak_bytes());
  std::set<OpKey> keys;
  double last = 0;
  for (const Span& s : trace.spans) {
    EXPECT_TRUE(keys.insert(s.key).second) << s.key.op;
    EXPECT_LT(s.key.microbatch, 8);
    last = std::max(last, s.start_s + s.duration_s);
  }
  EXPECT_LE(last, trace.step_s * (1 + 1e-12));
  std::size_t expected = 0;
  for (const StageProgram& stage : p.stages) {
    expected += stage.prologue.size() + stage.epilogue.size();
    for (const Slot& slot : stage.order) {
      if (slot.microbatch.value >= 8) continue;
      for (const LayerInstance& i : stage.chunks[slot.chunk.index()].instances) {
        const OpRange ops = ops_of(stage.program(i), slot);
        expected += ops.end - ops.begin;
      }
    }
  }
  if (!GetParam().plan.overlap.expert_parallel) {
    EXPECT_EQ(trace.spans.size(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, CompiledPlan, testing::ValuesIn(plan_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

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

TEST(Estimate, ReportsNameEveryPart) {
  const Program program = one_layer_program();
  const Profile profile = ideal_profile();
  const ClusterSpec cluster = round_cluster();
  const StepEstimate e = estimate(program, cluster, profile);
  const std::string text = print_estimate(e, program, cluster, profile);
  for (const char* word : {"step time 26.000 ms", "gemm", "optimizer", "tokens/s", "fits",
                           "fitted at worst", "band +-10%"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
  const std::string json = estimate_json(e, program, cluster, profile);
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
