// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What holds for the estimates of compiled plans of every kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/program/step_walk.hpp"
#include "simulator/estimate.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::make_plan;
using test::round_cluster;
using test::small_model;
using test::total_of;

struct PlanCase {
  const char* name;
  Plan plan;
};

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
  const Binding routed = LayerRows(p.model, p.workload, p.plan).of({});
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

}  // namespace
}  // namespace pleat
