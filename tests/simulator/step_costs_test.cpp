// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Step level: shards, overlap of the gradient sync, barriers between stages.
#include "simulator/step_costs.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::round_cluster;
using test::uniform_view;

// A dense bucket of 1000 fp32 elements over 4 shards.
StageProgram stage_with_bucket() {
  StageProgram stage;
  const auto state = [&](const char* name, TensorClass cls, std::int64_t n) {
    stage.state.push_back({name, cls, DType::fp32, {{n}}});
    return TensorId{static_cast<int>(stage.state.size()) - 1};
  };
  BucketState b;
  b.elements = 1000;
  b.shard_elements = 250;
  b.shards = 4;
  b.weights = b.main_params = state("w", TensorClass::weight, 1000);
  b.gradients = state("g", TensorClass::gradient, 1000);
  b.exp_avg = state("m", TensorClass::optimizer_state, 250);
  b.exp_avg_sq = state("v", TensorClass::optimizer_state, 250);
  stage.buckets = {b};
  return stage;
}

Op step_op(OpKind kind, Group group, std::vector<TensorId> in, std::vector<TensorId> out) {
  Op op;
  op.kind = kind;
  op.phase = Phase::step;
  op.group = group;
  op.in = std::move(in);
  op.out = std::move(out);
  return op;
}

TEST(StepCosts, OptimizerWorksOnTheShard) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 4, .tier = 0, .inside = 4});
  const StageProgram stage = stage_with_bucket();
  const BucketState& b = stage.buckets[0];
  const std::vector<Op> ops = {
      step_op(OpKind::adamw, Group::none, {b.gradients, b.exp_avg, b.exp_avg_sq, b.main_params},
              {b.exp_avg, b.exp_avg_sq, b.main_params}),
      step_op(OpKind::reduce_scatter, Group::dp_cp, {b.gradients}, {b.gradients})};
  const auto costs = price_step_ops(stage, shard_view(stage), ops, view, ideal_profile());
  EXPECT_DOUBLE_EQ(costs[0].cost.bytes.base(), 7 * 250 * 4);
  EXPECT_EQ(costs[0].cost.cls, CostClass::optimizer);
  EXPECT_DOUBLE_EQ(costs[1].cost.bytes.base(), 4000 * 0.75);  // the whole buffer
  EXPECT_EQ(costs[1].cost.cls, CostClass::dp_comm);
}

struct Epilogue {
  std::vector<StepOpCost> costs;
  void add(OpKind kind, Group group, double seconds) {
    costs.push_back({.kind = kind, .group = group, .cost = {}, .exposed = Seconds(seconds)});
    costs.back().cost.time = Seconds(seconds);
  }
};

TEST(StepCosts, SyncHidesInItsWindow) {
  Epilogue e;
  e.add(OpKind::reduce_scatter, Group::dp_cp, 6);
  e.add(OpKind::reduce_scatter, Group::edp, 2);
  e.add(OpKind::all_gather, Group::dp_cp, 4);
  e.add(OpKind::all_reduce, Group::tp, 1);
  auto exposed = [&](SyncWindow window, OverlapFlags overlap) {
    auto costs = e.costs;
    hide_gradient_sync(costs, window, overlap);
    std::vector<double> seconds;
    for (const StepOpCost& c : costs) seconds.push_back(c.exposed.base());
    return seconds;
  };
  const OverlapFlags on{};
  // Wide window: one of four pieces stays. Narrow: 8 - 2 of 8, 4 - 1 of 4.
  EXPECT_EQ(exposed({Seconds(100), Seconds(100), 4}, on), (std::vector<double>{1.5, 0.5, 1, 1}));
  EXPECT_EQ(exposed({Seconds(1), Seconds(2), 4}, on), (std::vector<double>{4.5, 1.5, 3, 1}));
  const OverlapFlags off{.grad_reduce = false, .param_gather = false};
  EXPECT_EQ(exposed({Seconds(100), Seconds(100), 4}, off), (std::vector<double>{6, 2, 4, 1}));
  EXPECT_EQ(exposed({Seconds(100), Seconds(100), 1}, on), (std::vector<double>{6, 2, 4, 1}));
  // A fifth of what is hidden is lost by the compute beside it: 1.5 + 4.5 / 5 of 6.
  EXPECT_EQ(exposed({Seconds(100), Seconds(100), 4, 0.2}, on),
            (std::vector<double>{6 * 0.4, 2 * 0.4, 4 * 0.4, 1}));
}

// Four chunks, 8 seconds of optimizer after the norm: three quarters of it, 6 s, run beside the
// first chunk's gather, 4 of 16 s. The norm's exchange and what comes before it hide nothing.
TEST(StepCosts, TheFirstChunksGatherHidesBesideTheOthersStep) {
  Epilogue e;
  e.add(OpKind::adamw, Group::none, 100);
  e.add(OpKind::reduce_scatter, Group::dp_cp, 8);
  e.add(OpKind::all_reduce, Group::world, 50);
  e.add(OpKind::adamw, Group::none, 8);
  e.add(OpKind::all_gather, Group::dp_cp, 16);
  Plan plan;
  plan.vpp = 4;
  EXPECT_EQ(after_norm(e.costs), Seconds(8));
  EXPECT_EQ(step_beside_gather(plan, Seconds(8), 4), Seconds(0));
  plan.overlap.gather_beside_step = true;
  EXPECT_EQ(step_beside_gather(plan, Seconds(8), 4), Seconds(6));
  const auto exposed = [&](double forward, double step, double slowed) {
    auto costs = e.costs;
    hide_gradient_sync(costs,
                       {Seconds(forward), Seconds(100), 4, slowed, Seconds(step)}, plan.overlap);
    EXPECT_EQ(costs[1].exposed, Seconds(8 * (0.25 + 0.75 * slowed)));  // it hides no reduction
    return costs[4].exposed.base();
  };
  EXPECT_EQ(exposed(100, 0, 0), 4);
  EXPECT_EQ(exposed(100, 3, 0), 1);
  EXPECT_EQ(exposed(100, 6, 0), 0);
  EXPECT_EQ(exposed(2, 6, 0), 16 - 2 - 6);
  EXPECT_EQ(exposed(100, 6, 0.25), 16 * 0.25);  // what is hidden still slows the passes
}

TEST(StepCosts, APipelineLosesMoreBesideAnExchange) {
  Profile profile;
  profile.dp_beside_compute = 0.2;
  profile.dp_beside_pipeline = 0.4;
  Plan plan;
  EXPECT_EQ(lost_beside_sync(plan, profile), 0.2);
  plan.attention.pp = 2;
  EXPECT_EQ(lost_beside_sync(plan, profile), 0.4);
}

// A billion gradients on one stage: 25 buckets of 40 million, 8 of a million a rank, 2 as the plan
// says, or one that leaves nothing to hide behind. Smaller ones count as Megatron's own.
TEST(StepCosts, BucketsAreAsLargeAsThePlanSays) {
  StageProgram stage = stage_with_bucket();
  stage.buckets[0].elements = 1'000'000'000;
  Plan plan;
  EXPECT_EQ(sync_pieces(plan, stage), 25);
  plan.attention.dp = 128;
  EXPECT_EQ(sync_pieces(plan, stage), 8);
  plan.ddp_bucket_size = 1;
  EXPECT_EQ(sync_pieces(plan, stage), 8);
  plan.ddp_bucket_size = 768'000'000;
  EXPECT_EQ(sync_pieces(plan, stage), 2);
  plan.ddp_bucket_size = 1'000'000'000;
  EXPECT_EQ(sync_pieces(plan, stage), 1);
  EXPECT_EQ(microbatches_beside_sync(plan, 1, 64), 0);
  plan.vpp = 4;  // a bucket for each chunk
  EXPECT_EQ(sync_pieces(plan, stage), 4);
}

// Stage 0 stops at 10, stage 1 at 4; 1 and 3 seconds to the world barrier of 2, then 5 and 1.
TEST(StepCosts, WorldCollectiveIsABarrier) {
  Epilogue a, b;
  a.add(OpKind::adamw, Group::none, 1);
  a.add(OpKind::all_reduce, Group::world, 2);
  a.add(OpKind::adamw, Group::none, 5);
  b.add(OpKind::adamw, Group::none, 3);
  b.add(OpKind::all_reduce, Group::world, 2);
  b.add(OpKind::adamw, Group::none, 1);
  const std::vector<const std::vector<StepOpCost>*> epilogues = {&a.costs, &b.costs};
  const StepEnd end = finish_step(epilogues, {Seconds(10), Seconds(4)}, true);
  EXPECT_DOUBLE_EQ(end.end[0].base(), 18);
  EXPECT_DOUBLE_EQ(end.end[1].base(), 14);
  EXPECT_DOUBLE_EQ(end.waited[0].base(), 0);
  EXPECT_DOUBLE_EQ(end.waited[1].base(), 4);
  EXPECT_DOUBLE_EQ(end.starts[1][1].base(), 11);
}

// Only the outer stages exchange the embedding gradient; the middle one goes on to the world
// barrier.
TEST(StepCosts, EmbeddingBarrierLeavesTheMiddleAlone) {
  Epilogue outer, middle;
  outer.add(OpKind::all_reduce, Group::embedding, 1);
  outer.add(OpKind::all_reduce, Group::world, 1);
  middle.add(OpKind::all_reduce, Group::world, 1);
  const std::vector<const std::vector<StepOpCost>*> epilogues = {&outer.costs, &middle.costs,
                                                                 &outer.costs};
  const StepEnd end = finish_step(epilogues, {Seconds(3), Seconds(1), Seconds(5)});
  for (Seconds s : end.end) EXPECT_DOUBLE_EQ(s.base(), 7);
  EXPECT_DOUBLE_EQ(end.waited[0].base(), 2);
  EXPECT_DOUBLE_EQ(end.waited[1].base(), 5);
  EXPECT_DOUBLE_EQ(end.waited[2].base(), 0);
}

}  // namespace
}  // namespace pleat
