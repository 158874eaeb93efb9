// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What lies in symmetric windows, by the plan: tensors that ranks of one stage have alike.
#include "backend/window_tensors.hpp"

#include <gmock/gmock.h>

#include "backend/rehearsal.hpp"
#include "tests/backend/layouts.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat::test {
namespace {

std::set<Group> groups_of(const WindowTensors& chosen) {
  std::set<Group> groups;
  for (const WindowGroup& g : chosen.groups) groups.insert(g.group);
  return groups;
}
WindowTensors chosen_of(const Program& program, int stage = 0) {
  return window_tensors(program.plan, Stage{stage},
                        program.stages[static_cast<std::size_t>(stage)]);
}

TEST(WindowTensors, BucketsThatDataParallelRanksSumAndGather) {
  const Program program = test::small_program(fp32_plan(4, 2));
  const WindowTensors chosen = chosen_of(program);
  for (const BucketState& b : program.stages.front().buckets) {
    if (b.elements == 0) continue;
    EXPECT_TRUE(chosen.tensors.contains(&program.stages.front().state[b.gradients.index()]));
    EXPECT_TRUE(chosen.tensors.contains(&program.stages.front().state[b.weights.index()]));
  }
  EXPECT_TRUE(groups_of(chosen).contains(Group::dp_cp));
  EXPECT_TRUE(groups_of(chosen).contains(Group::edp));
}

TEST(WindowTensors, LayersWholeWeightsWhereTheyLieInShards) {
  Plan plan = fp32_plan(4, 2);
  plan.sharding = Sharding::zero3;
  const Program program = test::small_program(plan);
  const WindowTensors chosen = chosen_of(program);
  int units = 0;
  for (const LayerProgram& layer : program.stages.front().layers) {
    for (const ShardedWeights& s : layer.sharded) {
      for (const std::optional<TensorId>& id :
           {std::optional(s.gradients), s.forward, s.backward}) {
        if (!id) continue;
        EXPECT_TRUE(chosen.tensors.contains(&layer.tensor(*id))) << layer.tensor(*id).name;
        ++units;
      }
    }
  }
  EXPECT_GT(units, 4);
}

// Ranks of other stages have programs of their own; what routing decides differs between ranks.
TEST(WindowTensors, NothingThatOtherStagesOrRoutingDecide) {
  const Plan plan = folded_plan({.tp = 2, .dp = 2, .pp = 2}, 2, 2);
  const Program program = test::small_program(plan);
  for (const int stage : {0, 1}) {
    const WindowTensors chosen = chosen_of(program, stage);
    EXPECT_TRUE(groups_of(chosen).contains(Group::tp));
    for (const Group g :
         {Group::world, Group::embedding, Group::copies, Group::pp_next, Group::pp_prev}) {
      EXPECT_FALSE(groups_of(chosen).contains(g)) << name_of(g);
    }
    for (const Tensor* t : chosen.tensors) {
      EXPECT_FALSE(t->is_routed()) << t->name;
      EXPECT_NE(t->cls, TensorClass::host_state) << t->name;
    }
  }
  EXPECT_TRUE(chosen_of(test::small_program(fp32_plan())).tensors.empty());
  Plan dual = fp32_plan(2, 1, 2);
  dual.schedule = PipelineSchedule::dualpipe;
  EXPECT_FALSE(groups_of(chosen_of(test::small_program(dual))).contains(Group::copies));
}

// What lies in host memory is none of the device's, whatever collective would run on it.
TEST(WindowTensors, NothingThatLiesInHostMemory) {
  Program program = test::small_program(fp32_plan(4, 2));
  StageProgram& stage = program.stages.front();
  const BucketState& b = stage.buckets.front();
  Tensor& gradients = stage.state[b.gradients.index()];
  const Tensor& weights = stage.state[b.weights.index()];
  ASSERT_TRUE(chosen_of(program).tensors.contains(&gradients));
  gradients.cls = TensorClass::host_state;
  EXPECT_FALSE(chosen_of(program).tensors.contains(&gradients));
  EXPECT_TRUE(chosen_of(program).tensors.contains(&weights));
}

// Gradients that travel in another type are rounded into memory of their own first.
TEST(WindowTensors, NoGradientsThatAreRoundedForTheWay) {
  Plan plan = fp32_plan(2, 2);
  plan.precision = Precision::bf16;
  const Program wide = test::small_program(plan);
  plan.optimizer.grad_reduce = DType::bf16;
  const Program narrow = test::small_program(plan);
  const auto gradients = [](const Program& p) {
    const StageProgram& s = p.stages.front();
    return chosen_of(p).tensors.contains(&s.state[s.buckets.front().gradients.index()]);
  };
  EXPECT_TRUE(gradients(wide));
  EXPECT_FALSE(gradients(narrow));
}

TEST(WindowTensors, LayoutIsANumberOfSizesAndOrder) {
  const auto layout = [](const Plan& plan, int stage) {
    const Program program = test::small_program(plan);
    const WindowTensors chosen = chosen_of(program, stage);
    const Rehearsed step = rehearse(program.stages[static_cast<std::size_t>(stage)], {},
                                    [&](const Tensor& t) { return chosen.tensors.contains(&t); },
                                    TensorPlacement::slab);
    EXPECT_GT(step.slab, 0);
    EXPECT_EQ(step.slab % 256, 0);
    EXPECT_GE(step.slab, step.blocks);
    return step.layout;
  };
  const Plan plan = folded_plan({.tp = 2, .dp = 2, .pp = 2}, 2, 2);
  EXPECT_EQ(layout(plan, 0), layout(plan, 0));
  EXPECT_NE(layout(plan, 0), layout(plan, 1));
  Plan recomputed = plan;
  recomputed.recompute_full = true;
  EXPECT_NE(layout(plan, 0), layout(recomputed, 0));
}

}  // namespace
}  // namespace pleat::test
