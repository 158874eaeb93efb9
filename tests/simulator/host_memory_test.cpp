// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer between device and host: peaks, transfers, the CPU's step, a node's memory; and
// what Muon, packing and the paged stash cost.
#include <gtest/gtest.h>

#include <cmath>

#include "core/spec/catalog.hpp"
#include "simulator/cost/op_work.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_costs.hpp"
#include "tests/simulator/fixtures.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

Plan offloading_mixtral() {
  Plan p;
  p.attention.dp = 64;
  p.expert = {.etp = 1, .ep = 8, .edp = 8};
  return p;
}

struct Job {
  Plan plan = offloading_mixtral();
  WorkloadSpec workload{.seq_len = 4096, .global_batch = 128};
  ClusterSpec cluster = load_cluster("h100-sxm");
  [[nodiscard]] Program program() const {
    return compile(load_model("mixtral-8x7b").model, workload, plan, Runtime::megatron);
  }
  [[nodiscard]] StepEstimate price() const {
    return estimate(program(), cluster, datasheet_profile("h100-sxm", 2, Runtime::megatron));
  }
};

std::int64_t shards_of(const StageProgram& stage) {
  std::int64_t elements = 0;
  for (const BucketState& b : stage.buckets) elements += b.shard_elements;
  return elements;
}

double part(const StepEstimate& e, CostClass cls) {
  return e.parts[static_cast<std::size_t>(cls)].base();
}

TEST(HostMemory, StateThatIsAwayBetweenStepsLowersThePeakByItsSize) {
  Job run;
  const StepEstimate here = run.price();
  run.plan.optimizer.state_offload = 1;
  const StepEstimate away = run.price();
  const std::int64_t state = 12 * shards_of(run.program().stages[0]);
  EXPECT_EQ(here.memory[0].optimizer - away.memory[0].optimizer, state);
  EXPECT_EQ(here.peak_bytes() - away.peak_bytes(), state);  // the peak lies in the passes
  EXPECT_EQ(away.memory[0].host, state);
  EXPECT_EQ(away.host_bytes, 8 * state);
  // Both ways over 64 GB/s, nothing hides it.
  EXPECT_NEAR(part(away, CostClass::offload), 2.0 * static_cast<double>(state) / 64e9, 1e-6);
  EXPECT_NEAR((away.step - here.step).base(), part(away, CostClass::offload), 1e-6);
}

// With little else, the peak is in the step: all that it reloads is the optimizer's there.
TEST(HostMemory, StateThatIsReloadedAtThePeakIsTheOptimizers) {
  Job run;
  run.workload = {.seq_len = 64, .global_batch = 64};
  run.plan.recompute_full = true;
  const StepEstimate here = run.price();
  run.plan.optimizer.state_offload = 1;
  const StageMemory away = run.price().memory[0];
  const StageProgram stage = run.program().stages[0];
  const EpilogueMemory epilogue = epilogue_memory(stage);
  std::int64_t largest = 0;  // one bucket after the other
  for (const BucketState& b : stage.buckets) largest = std::max(largest, 12 * b.shard_elements);
  EXPECT_EQ(epilogue.optimizer, largest);
  EXPECT_EQ(away.optimizer, state_bytes(stage).optimizer + largest);
  EXPECT_EQ(away.activations, state_bytes(stage).other + epilogue.peak - largest);
  EXPECT_LT(away.activations, here.memory[0].activations + 1024);
  EXPECT_EQ(away.weights + away.gradients + away.optimizer + away.activations + away.runtime,
            away.peak);
}

TEST(HostMemory, TheHostsStepIsBoundByItsMemoryAndTheLink) {
  Job run;
  const StepEstimate here = run.price();
  run.plan.optimizer.cpu_offload = 1;
  const StepEstimate host = run.price();
  const double elements = static_cast<double>(shards_of(run.program().stages[0]));
  // fp32 gradients out, bf16 weights back; 28 bytes an element at half of 614 GB/s over 8 GPUs.
  const double transfers = 6 * elements / 64e9;
  const double step = 28 * elements / (0.5 * 614e9 / 8);
  EXPECT_NEAR(part(host, CostClass::offload), transfers + step, 1e-4 * step);
  EXPECT_LT(part(host, CostClass::optimizer), part(here, CostClass::optimizer));
  run.plan.optimizer.cpu_offload_overlapped = true;
  EXPECT_NEAR(part(run.price(), CostClass::offload), step, 1e-4 * step);
  // Moments and main parameters, gradients, and bf16 weights on their way back.
  EXPECT_EQ(host.memory[0].host, static_cast<std::int64_t>(elements) * (12 + 4 + 2));
}

TEST(HostMemory, ANodeThatLacksItDoesNotFit) {
  Job run;
  run.plan.optimizer.state_offload = 1;
  run.plan.recompute_full = true;
  ASSERT_TRUE(run.price().fits);
  run.cluster.host_memory = Bytes(static_cast<double>(run.price().host_bytes));
  EXPECT_TRUE(run.price().fits);
  run.cluster.host_memory = Bytes(static_cast<double>(run.price().host_bytes - 1));
  EXPECT_FALSE(run.price().fits);
}

TEST(HostMemory, NodesOfSeveralStagesAddTheirRanks) {
  std::vector<StageMemory> stages(4);
  for (std::size_t i = 0; i < 4; ++i) stages[i].host = static_cast<std::int64_t>(i) * 10;
  EXPECT_EQ(fullest_node(stages, 8, 4), 2 * 20 + 2 * 30);
  EXPECT_EQ(fullest_node(stages, 8, 3), 2 * 30);  // ranks 6 and 7 alone
  EXPECT_EQ(fullest_node(stages, 8, 8), 2 * (10 + 20 + 30));
}

TEST(HostMemory, OffloadedActivationsStayUntilTheirBackwardPass) {
  Job run;
  run.plan.offload = {Offload::core_attn};
  const Program program = run.program();
  std::int64_t layer = 0;
  for (const LayerProgram& l : program.stages[0].layers) {
    for (const Op& op : l.forward) {
      if (op.kind == OpKind::offload) layer += l.tensor(op.in.front()).bytes({});
    }
  }
  ASSERT_GT(layer, 0);
  // PP 1: one microbatch, 32 layers.
  const LayerRows rows(program.model, program.workload, program.plan);
  EXPECT_EQ(offloaded_activations(program.stages[0], rows), std::vector<std::int64_t>{32 * layer});
  EXPECT_EQ(run.price().memory[0].host, 32 * layer);
}

// 1 TFLOP/s, products only: 5 (4 a^2 b + 2 a^3) flops a matrix.
TEST(NewtonSchulz, IsItsProducts) {
  const ClusterSpec cluster = test::round_cluster();
  Op op;
  op.kind = OpKind::newton_schulz;
  op.phase = Phase::step;
  op.attr.m = {3000};
  op.attr.n = {1000};
  op.attr.experts = 7;
  const OpCost cost = price_op(op, {}, {}, test::uniform_view(cluster, {}), test::ideal_profile());
  const double flops = 7 * 5 * (4 * 1e6 * 3e3 + 2 * 1e9);
  EXPECT_DOUBLE_EQ(cost.flops.base(), flops);
  EXPECT_NEAR(cost.time.base(), flops / 1e12, 1e-9);
  EXPECT_EQ(cost.cls, CostClass::optimizer);
}

TEST(PackedDocuments, ScoresGoWithTheMeanLength) {
  Job run;
  run.workload.documents = {1024};
  const StepEstimate packed = run.price();
  run.workload.documents = {4096};
  const StepEstimate whole = run.price();
  run.workload.documents = {};
  EXPECT_DOUBLE_EQ(run.price().step.base(), whole.step.base());
  EXPECT_LT(part(packed, CostClass::attention), 0.5 * part(whole, CostClass::attention));
  EXPECT_DOUBLE_EQ(part(packed, CostClass::gemm), part(whole, CostClass::gemm));
  run.workload.documents = {64, 4096};  // uneven: the slowest rank has more than the mean
  const Packing p = packing_of(run.workload, 1);
  const Program program = run.program();
  for (const LayerProgram& layer : program.stages[0].layers) {
    for (const Op& op : layer.forward) {
      if (op.kind != OpKind::attention) continue;
      EXPECT_DOUBLE_EQ(op.attr.packed, p.mean_length);
      // EP 8 ranks meet in every layer; 64 / 8 such groups at the end of two microbatches.
      const double s = p.variation, t = std::sqrt(2 * std::log(8.0));
      EXPECT_DOUBLE_EQ(op.attr.slowest, (1 + s * t) * (1 + s / std::sqrt(2.0) * t));
    }
  }
}

// 2^24 tokens of a microbatch, 2^37 elements of a tensor: counts stay exact.
TEST(LongContext, MemoryAndTimeGrowWithTokensWithoutOverflow) {
  const auto at = [](std::int64_t tokens, int batch) {
    Job job;
    job.workload = {.seq_len = tokens, .global_batch = 64LL * batch};
    job.plan.micro_batch = batch;
    job.plan.recompute_full = true;
    return job.price();
  };
  const StepEstimate one = at(262144, 1), many = at(262144, 64);
  // Full recompute keeps an input a layer and recomputes one; all of it goes with the tokens.
  EXPECT_NEAR(static_cast<double>(many.memory[0].activations) /
                  static_cast<double>(one.memory[0].activations),
              64.0, 0.01);
  EXPECT_NEAR(part(many, CostClass::gemm) / part(one, CostClass::gemm), 64.0, 0.7);
  // Scores go with the square of the length: four times the tokens, sixteen times the work.
  const StepEstimate shorter = at(65536, 4), longer = at(262144, 4);
  EXPECT_NEAR(part(longer, CostClass::attention) / part(shorter, CostClass::attention), 16.0, 1.0);
}

TEST(PagedStash, KeepsTheBufferAndComputesWithTheCapacity) {
  Job run;
  const auto layer_bytes = [&run](Pass pass) {
    const Program program = run.program();
    const PagedStash& s = run.plan.paged_stash;
    const auto rows = [&](double over_mean) {
      return balanced_routed_tokens(program.model, program.workload, program.plan, over_mean);
    };
    const Binding binding = s.buffer > 0 ? Binding{rows(1), rows(s.capacity), rows(s.buffer)}
                                         : Binding{rows(1)};
    for (const LayerProgram& layer : program.stages[0].layers) {
      if (layer.kind != LayerKind::moe) continue;
      const LayerCosts costs = price(layer, binding, binding, view_cluster(run.cluster, run.plan),
                                     datasheet_profile("h100-sxm", 2, Runtime::megatron));
      return pass == Pass::forward ? costs.forward.memory : costs.backward.memory;
    }
    return MemoryDelta{};
  };
  const MemoryDelta exact = layer_bytes(Pass::forward);
  run.plan.paged_stash = {1.0, 1.0};
  EXPECT_EQ(layer_bytes(Pass::forward).net, exact.net);
  EXPECT_EQ(layer_bytes(Pass::forward).peak, exact.peak);
  run.plan.paged_stash = {1.0, 1.5};
  const MemoryDelta roomy = layer_bytes(Pass::forward), back = layer_bytes(Pass::backward);
  EXPECT_EQ(roomy.net, exact.net);    // what is kept is not the room
  EXPECT_GT(roomy.peak, exact.peak);
  EXPECT_EQ(roomy.net + back.net, 0);
  run.plan.paged_stash = {1.2, 1.5};
  EXPECT_GT(layer_bytes(Pass::forward).net, exact.net);
}

}  // namespace
}  // namespace pleat
