// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The backward pass cut into input and weight gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/program/op_graph.hpp"
#include "core/program/passes/layer_passes.hpp"
#include "core/program/program.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::problems_of;
using test::small_mla;
using test::small_moe;

Plan scheduled_plan(PipelineSchedule schedule, int tp = 1) {
  Plan p;
  p.attention = {.tp = tp, .pp = 2};
  p.expert = {.etp = 1, .ep = tp, .edp = 1};
  p.schedule = schedule;
  return p;
}

std::set<std::string> names_between(const LayerProgram& layer, int begin, int end) {
  std::set<std::string> found;
  for (int i = begin; i < end; ++i) found.insert(layer.backward[static_cast<std::size_t>(i)].name);
  return found;
}

Program program_of(const ModelSpec& model, const Plan& plan, Runtime runtime) {
  return compile(model, {.seq_len = 16, .global_batch = 4}, plan, runtime);
}

LayerProgram stage_layer(const StageProgram& stage, LayerKind kind) {
  for (const LayerProgram& layer : stage.layers) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no such layer";
  return {};
}
LayerProgram moe_layer_of(const StageProgram& stage) { return stage_layer(stage, LayerKind::moe); }

TEST(SplitBackward, WeightGradientsComeLast) {
  const Program p =
      program_of(small_moe(), scheduled_plan(PipelineSchedule::zb_h1), Runtime::pleat);
  for (const LayerProgram& layer : p.stages[0].layers) {
    ASSERT_TRUE(layer.weight_ops.has_value());
    for (std::size_t i = 0; i < layer.backward.size(); ++i) {
      const bool late = static_cast<int>(i) >= *layer.weight_ops;
      EXPECT_EQ(layer.backward[i].phase == Phase::wgrad, late) << layer.backward[i].name;
    }
  }
  const Program whole =
      program_of(small_moe(), scheduled_plan(PipelineSchedule::one_f_one_b), Runtime::pleat);
  for (const LayerProgram& layer : whole.stages[0].layers) EXPECT_FALSE(layer.weight_ops);
}

// The second gather of a product's input serves its weight gradient only.
TEST(SplitBackward, GathersForWeightGradientsGoWithThem) {
  const Program p =
      program_of(small_moe(), scheduled_plan(PipelineSchedule::zb_h1, 2), Runtime::pleat);
  const LayerProgram moe = moe_layer_of(p.stages[1]);
  const int end = static_cast<int>(moe.backward.size());
  const std::set<std::string> late = names_between(moe, *moe.weight_ops, end);
  EXPECT_TRUE(late.contains("attn_norm.ag.again"));
  EXPECT_TRUE(late.contains("shared.ag.again"));
  EXPECT_TRUE(late.contains("qkv.wgrad"));
  EXPECT_FALSE(late.contains("attn_proj.rs.ag"));  // the output's gradient: the input's needs it
  EXPECT_FALSE(late.contains("qkv.dgrad"));
}

// Every dependency of the whole pass holds after the cut, whatever was recomputed or narrowed.
TEST(SplitBackward, KeepsDependencies) {
  for (const ModelSpec& model : {small_moe(), small_mla()}) {
    for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::mxfp8}) {
      for (const auto& recompute : {std::set<Module>{}, {Module::layernorm, Module::moe_act},
                                    {Module::moe}, {Module::core_attn}}) {
        Plan plan = scheduled_plan(PipelineSchedule::one_f_one_b, 2);
        plan.precision = precision;
        plan.recompute = recompute;
        const Program whole = program_of(model, plan, Runtime::megatron);
        plan.schedule = PipelineSchedule::zb_h1;
        const Program cut = program_of(model, plan, Runtime::megatron);
        for (std::size_t k = 0; k < whole.stages[1].layers.size(); ++k) {
          const LayerProgram& before = whole.stages[1].layers[k];
          const LayerProgram& after = cut.stages[1].layers[k];
          ASSERT_EQ(before.backward.size(), after.backward.size());
          std::map<std::string, std::size_t> place;
          for (std::size_t i = 0; i < after.backward.size(); ++i) {
            place[after.backward[i].name] = i;
          }
          const auto deps = dependencies(before.backward);
          for (std::size_t i = 0; i < deps.size(); ++i) {
            for (const int b : deps[i]) {
              EXPECT_LT(place.at(before.backward[static_cast<std::size_t>(b)].name),
                        place.at(before.backward[i].name));
            }
          }
          const std::vector<std::string> problems = problems_of(after);
          EXPECT_TRUE(problems.empty()) << problems.front();
        }
      }
    }
  }
}

// dY of a product lives until the weight gradients; what only dX needs does not.
TEST(SplitBackward, ActivationsLiveUntilTheirWeightGradient) {
  const Program p =
      program_of(small_moe(), scheduled_plan(PipelineSchedule::zb_h1), Runtime::pleat);
  const LayerProgram moe = moe_layer_of(p.stages[1]);
  const auto dies_late = [&](const std::string& name) {
    for (const Lifetime& life : moe.lives) {
      if (moe.tensor(life.tensor).name == name) return life.end->op >= *moe.weight_ops;
    }
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_TRUE(dies_late("d.experts.fc1"));
  EXPECT_TRUE(dies_late("experts.act"));
  EXPECT_TRUE(dies_late("attn_norm"));
  EXPECT_FALSE(dies_late("attn_norm.rstd"));
  EXPECT_FALSE(dies_late("attn.lse"));
}

TEST(SplitBackward, DualPipeStagesHoldBothEnds) {
  Plan plan = scheduled_plan(PipelineSchedule::dualpipe);
  const Program p = program_of(small_moe(), plan, Runtime::pleat);
  for (const StageProgram& stage : p.stages) ASSERT_EQ(stage.chunks.size(), 2u);
  const auto layers = [&](int stage, int chunk) {
    std::vector<int> found;
    const StageProgram& holder = p.stages[static_cast<std::size_t>(stage)];
    for (const LayerInstance& i : holder.chunks[static_cast<std::size_t>(chunk)].instances) {
      if (i.layer.value >= 0 && i.layer.value < 4) found.push_back(i.layer.value);
    }
    return found;
  };
  EXPECT_EQ(layers(0, 0), (std::vector<int>{0, 1}));
  EXPECT_EQ(layers(0, 1), (std::vector<int>{2, 3}));
  EXPECT_EQ(layers(1, 0), (std::vector<int>{2, 3}));
  EXPECT_EQ(layers(1, 1), (std::vector<int>{0, 1}));
  // Both sum their gradients with the mirrored stage, and share the optimizer's shards.
  const auto sync = std::ranges::find(p.stages[0].epilogue, "dense.grad_sync.copies", &Op::name);
  ASSERT_NE(sync, p.stages[0].epilogue.end());
  EXPECT_EQ(sync->kind, OpKind::reduce_bucket);
  EXPECT_EQ(sync->group, Group::copies);
  EXPECT_EQ(p.stages[0].buckets[0].shards, 2);
}

}  // namespace
}  // namespace pleat
