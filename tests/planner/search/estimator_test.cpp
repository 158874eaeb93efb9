// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The estimator that remembers against the estimate that prices everything anew, on plans drawn at
// random and in an order in which they share layers, stages and schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/spec/catalog.hpp"
#include "tests/planner/space/every_plan.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

void expect_same(const StepEstimate& a, const StepEstimate& b, const Plan& plan) {
  SCOPED_TRACE(summary(plan));
  EXPECT_EQ(a.step.base(), b.step.base());
  EXPECT_EQ(a.low.base(), b.low.base());
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.fits, b.fits);
  EXPECT_EQ(a.host_bytes, b.host_bytes);
  EXPECT_EQ(a.mfu, b.mfu);
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (std::size_t s = 0; s < a.memory.size(); ++s) {
    const StageMemory &x = a.memory[s], &y = b.memory[s];
    EXPECT_EQ(x.stage, y.stage);
    EXPECT_EQ(std::tie(x.weights, x.gradients, x.optimizer, x.activations, x.runtime, x.peak,
                       x.outside, x.host),
              std::tie(y.weights, y.gradients, y.optimizer, y.activations, y.runtime, y.peak,
                       y.outside, y.host));
    EXPECT_EQ(a.stages[s].busy.base(), b.stages[s].busy.base());
    EXPECT_EQ(a.stages[s].bubble.base(), b.stages[s].bubble.base());
  }
}

void vary_stages(Plan& plan, std::mt19937& random) {
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  plan.stages.clear();
  for (int s = 0; s < plan.attention.pp; ++s) {
    if (pick(2) == 0) continue;
    StageOverride one{.stage = s, .recompute = {}, .recompute_full = pick(2) == 0, .offload = {}};
    if (!one.recompute_full) one.recompute = {static_cast<Module>(pick(7))};
    else one.recompute_layers = pick(3);
    plan.stages.push_back(one);
  }
}

// One field of the plan changed to any of its values.
void mutate(Plan& plan, std::mt19937& random) {
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  switch (pick(39)) {
    case 38: vary_stages(plan, random); break;
    case 0: plan.sequence_parallel = !plan.sequence_parallel; break;
    case 1: plan.precision = static_cast<Precision>(pick(8)); break;
    case 2: plan.sharding = static_cast<Sharding>(pick(4)); break;
    case 3: plan.dispatcher = static_cast<Dispatcher>(pick(5)); break;
    case 4: plan.cuda_graph = static_cast<CudaGraph>(pick(5)); break;
    case 5: plan.dispatcher_sms = 8 * pick(4); break;
    case 6: plan.cp_comm = static_cast<CpComm>(pick(4)); break;
    case 7: plan.recompute = {static_cast<Module>(pick(7))}; break;
    case 8: plan.recompute_full = !plan.recompute_full; break;
    case 9: plan.recompute_layers = pick(3); break;
    case 10: plan.offload = {static_cast<Offload>(pick(7))}; break;
    case 11: plan.offload_layers = pick(3); break;
    case 12: plan.flash_attention = !plan.flash_attention; break;
    case 13: plan.fp8_attention = !plan.fp8_attention; break;
    case 14: plan.fp8_head = !plan.fp8_head; break;
    case 15: plan.fp8_params = !plan.fp8_params; break;
    case 16: plan.overlap.expert_parallel = !plan.overlap.expert_parallel; break;
    case 17: plan.overlap.delay_wgrad = !plan.overlap.delay_wgrad; break;
    case 18: plan.overlap.grad_reduce = !plan.overlap.grad_reduce; break;
    case 19: plan.overlap.param_gather = !plan.overlap.param_gather; break;
    case 20: plan.overlap.tensor_parallel = !plan.overlap.tensor_parallel; break;
    case 21: plan.microbatch_group = pick(9); break;
    case 22: {
      const DType types[] = {DType::fp32, DType::bf16};
      plan.optimizer.main_grads = types[pick(2)];
      plan.optimizer.main_params = types[pick(2)];
      plan.optimizer.exp_avg = types[pick(2)];
      plan.optimizer.exp_avg_sq = types[pick(2)];
      break;
    }
    case 23: plan.cp_a2a = pick(3); break;
    case 24: plan.overlap.tile_level = !plan.overlap.tile_level; break;
    case 25: plan.fp8_dispatch = !plan.fp8_dispatch; break;
    case 26: plan.fp8_combine = !plan.fp8_combine; break;
    case 27: plan.optimizer_instances = 1 + pick(4); break;
    case 28: plan.optimizer.grad_reduce = DType::bf16; break;
    case 29: plan.fsdp_group = pick(5); break;
    case 30: {
      plan.schedule = static_cast<PipelineSchedule>(pick(5));
      const bool v = plan.schedule == PipelineSchedule::zb_v ||
                     plan.schedule == PipelineSchedule::dualpipe_v;
      plan.vpp = v ? 2 : 1;
      plan.layout.clear();
      break;
    }
    case 31: plan.optimizer.kind = static_cast<OptimizerKind>(pick(4)); break;
    case 32: plan.optimizer.state_offload = 0.1 * pick(5); break;
    case 33: plan.optimizer.cpu_offload = 0.1 * pick(5); break;
    case 34: plan.optimizer.cpu_offload_overlapped = !plan.optimizer.cpu_offload_overlapped; break;
    case 35: plan.paged_stash = {1.0 + 0.1 * pick(3), 1.0 + 0.1 * pick(6)}; break;
    case 36:
      plan.recompute = {};
      plan.recompute_full = true;
      plan.recompute_layers = 0;
      plan.recompute_unit = 1 + pick(3);
      break;
    case 37: plan.optimizer.main_params = DType::remainder16; break;
  }
}

int compare_all(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
                const Profile& profile, const SearchConfig& config, int count) {
  const MeshSpace space = enumerate_meshes({model, cluster, workload, {}}, config);
  const std::vector<Setting> all_settings = settings(model, cluster, config);
  const std::vector<MemoryChoice> choices = memory_choices(model, cluster, config);
  const Estimator estimator(model, workload, cluster, profile, Runtime::megatron);
  std::mt19937 random(11);
  std::vector<Plan> plans;
  int tries = 0;
  while (static_cast<int>(plans.size()) < count && ++tries < 400 * count) {
    Plan plan = space.plan(space.meshes[random() % space.meshes.size()], config);
    all_settings[random() % all_settings.size()].put_into(plan);
    choices[random() % choices.size()].put_into(plan);
    for (unsigned changes = random() % 4; changes > 0; --changes) mutate(plan, random);
    if (!violations({model, workload, plan, config.gpus}).empty()) continue;
    plans.push_back(plan);
    plan.overlap.grad_reduce = !plan.overlap.grad_reduce;  // the same layers
    if (violations({model, workload, plan, config.gpus}).empty()) plans.push_back(plan);
    vary_stages(plan, random);
    if (violations({model, workload, plan, config.gpus}).empty()) plans.push_back(plan);
    for (int more = 0; more < 3; ++more) {  // some of the layers the same
      Plan next = plan;
      mutate(next, random);
      if (violations({model, workload, next, config.gpus}).empty()) plans.push_back(next);
    }
  }
  std::vector<StepEstimate> first;
  for (const Plan& plan : plans) first.push_back(estimator(plan));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    expect_same(first[i], estimate(compile(model, workload, plans[i], Runtime::megatron), cluster,
                                   profile), plans[i]);
    expect_same(first[i], estimator(plans[i]), plans[i]);  // from memory alone
  }
  EXPECT_GT(std::ranges::count_if(plans, [](const Plan& p) { return !p.stages.empty(); }), 0);
  EXPECT_LT(estimator.counts().layers, plans.size());
  return static_cast<int>(plans.size());
}

TEST(Estimator, GivesTheEstimateOfTheCompiledPlan) {
  SearchConfig config = test::small_config(16);
  Profile profile = test::small_profile();
  EXPECT_GE(compare_all(test::small_model(), test::small_cluster(), test::small_workload(), profile,
                        config, 1500), 1500);
  profile.sustained_clock.duty_slope = 0.3;
  EXPECT_GE(compare_all(test::small_model(), test::small_cluster(), test::small_workload(), profile,
                        config, 100), 100);
}

TEST(Estimator, GivesTheSameOnADeepSeekModelAndMeasuredTables) {
  SearchConfig config = test::small_config(256);
  config.numerics.front().precision = Precision::mxfp8;
  WorkloadSpec workload;
  workload.seq_len = 4096;
  workload.global_batch = 2048;
  EXPECT_GE(compare_all(load_model("deepseek-v3").model, load_cluster("gb200-nvl72"), workload,
                        load_profile("gb200-nvl72-megatron"), config, 60), 60);
}

TEST(Estimator, GivesTheSameWithPackedDocuments) {
  WorkloadSpec workload = test::small_workload();
  workload.documents = {workload.seq_len, workload.seq_len / 8};
  EXPECT_GE(compare_all(test::small_model(), test::small_cluster(), workload, test::small_profile(),
                        test::small_config(16), 60), 60);
}

}  // namespace
}  // namespace pleat
