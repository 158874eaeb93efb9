// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bugs of other training systems in what this backend divides over ranks: a test each, named for
// the bug, with the report that describes it.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::folded_plan;
using test::fp32_plan;

TrainConfig skewed(int steps = 1) {
  TrainConfig config = test::small_config(steps);
  test::skew(config);
  return config;
}

// Steps proportional to the gradient: a wrong factor of the gradient shows in the weights.
TrainConfig plain_steps() {
  TrainConfig config = skewed(2);
  config.adamw = {.lr = 300, .beta1 = 0, .beta2 = 0, .eps = 1000};
  config.clip_norm = 0;
  return config;
}

void expect_same(const TrainResult& many, const TrainResult& one) {
  for (std::size_t s = 0; s < one.steps.size(); ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
    EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm, 1e-5 * one.steps[s].grad_norm);
  }
  test::expect_close(many.gradients, one.gradients, 1e-5);
  test::expect_close(many.weights, one.weights, 1e-5);
}

// NVIDIA/Megatron-LM 4f8974a: gradients of experts scaled by 1/ep where it should have been edp/dp.
TEST(MoeBugs, GradientScaleOfExpertsWhereTpIsNotEtp) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), plain_steps());
  for (const int tp : {1, 2, 4}) {
    for (const int etp : {1, 2, 4}) {
      for (const int ep : {1, 2, 4}) {
        if (etp * ep > 4) continue;
        const Plan plan = folded_plan({.tp = tp, .dp = 4 / tp}, etp, ep);
        SCOPED_TRACE(summary(plan));
        expect_same(test::run(model, plan, plain_steps()), one);
      }
    }
  }
}

// pytorch#160285, DeepSpeed#5259: twice the gradient with EP 2.
TEST(MoeBugs, TwiceTheGradientWithEp2) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult without = test::run(model, folded_plan({.dp = 2}, 1, 1), plain_steps());
  expect_same(test::run(model, folded_plan({.dp = 2}, 1, 2), plain_steps()), without);
}

// NVIDIA/Megatron-LM#5916: the norm without the experts of other ranks where EP > 1 and TP > 1.
// NeMo Automodel#3816, torchtitan#1541, ColossalAI#2192: a norm for each expert group, or none on a
// stage without experts. Every rank clips by the same norm, that of the whole model.
TEST(MoeBugs, NormOverPartOfTheExperts) {
  ModelSpec model = test::biased(test::small_moe());
  model.moe_layer = {false, false, true, true};  // the first of two stages is dense
  TrainConfig config = plain_steps();
  config.clip_norm = 0.05;
  const TrainResult one = test::run(model, fp32_plan(), config);
  ASSERT_GT(one.steps[0].grad_norm, 2 * config.clip_norm);
  for (const Plan& plan : {folded_plan({.tp = 2, .dp = 2}, 1, 4), folded_plan({.tp = 2, .dp = 2}, 2, 2),
                           folded_plan({.tp = 2, .pp = 2}, 1, 2), folded_plan({.dp = 4, .pp = 2}, 1, 2)}) {
    SCOPED_TRACE(summary(plan));
    expect_same(test::run(model, plan, config), one);
  }
}

// torchtitan#4054, #1878, #2416: the gradient below experts and router is not summed over TP. It is
// the first layer's and the embedding's that are wrong then.
TEST(MoeBugs, GradientBelowTheExpertsNotSummedOverTp) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), skewed());
  for (const int ep : {1, 4}) {
    const TrainResult many = test::run(model, folded_plan({.tp = 4}, 1, ep), skewed());
    for (const char* name : {"embedding", "layers.0.attn_norm", "layers.0.qkv", "layers.1.mlp_norm",
                             "layers.1.router"}) {
      EXPECT_LE(test::relative_difference(many.gradients.at(name), one.gradients.at(name)), 1e-5) << name;
    }
  }
}

// TransformerEngine#3067, #2765: experts without tokens. All tokens go to experts 0 and 1, which one
// rank has: the others receive nothing.
TEST(MoeBugs, RanksWithoutTokens) {
  ModelSpec model = test::biased(test::small_moe());
  TrainConfig config = test::small_config();
  config.adjust_weight = [](const std::string& name, std::span<float> values) {
    if (!name.ends_with("expert_bias")) return;
    for (std::size_t e = 2; e < values.size(); ++e) values[e] = -100;
  };
  const TrainResult one = test::run(model, fp32_plan(), config);
  for (const Plan& plan : {folded_plan({.dp = 4}, 1, 4), folded_plan({.tp = 2, .dp = 2}, 2, 2)}) {
    const TrainResult many = test::run(model, plan, config);
    std::int64_t idle = 0;
    for (const RankMeasurement& rank : many.ranks) {
      for (const auto& [where, rows] : rank.routed) idle += rows.gathered == 0;
    }
    EXPECT_GT(idle, 0);
    test::expect_close(many.gradients, one.gradients, 1e-5);
    for (float g : many.gradients.at("layers.1.experts.7.fc2")) EXPECT_EQ(g, 0.0F);
  }
}

// NVIDIA/Megatron-LM 54d4b3d: wrong counts for the local experts where TP > 1, EP > 1 and a rank has
// several of them. With every dispatcher, forth and back is what one rank does.
TEST(MoeBugs, CountsOfSeveralLocalExpertsWithTpAndEp) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), skewed());
  for (const Dispatcher d : {Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::hierarchical}) {
    for (const int ep : {2, 4}) {  // 4 and 2 local experts
      Plan plan = folded_plan({.tp = 2, .dp = 2}, 1, ep);
      plan.dispatcher = d;
      const TrainResult many = test::run(model, plan, skewed());
      test::expect_close(many.gradients, one.gradients, 1e-5);
      std::int64_t sent = 0, received = 0;
      for (const RankMeasurement& rank : many.ranks) {
        for (const auto& [where, rows] : rank.routed) {
          sent += rows.kept;
          received += rows.routed;
        }
      }
      EXPECT_EQ(received, sent);
      EXPECT_EQ(sent, 8 * 16 * 2 * 3);  // samples, tokens, top-k, MoE layers
    }
  }
}

// NVIDIA/Megatron-LM bc70535: numbers of experts and of choices that are no powers of two.
TEST(MoeBugs, SixtyExpertsAndSixChoices) {
  ModelSpec model = test::small_moe();
  model.moe->experts = 60;
  model.moe->top_k = 6;
  model.moe->ffn = 12;
  const TrainConfig config = test::small_config();
  const TrainResult one = test::run(model, fp32_plan(), config);
  ASSERT_GE(one.min_router_margin, 1e-7);
  for (const Plan& plan : {folded_plan({.tp = 2, .dp = 2}, 1, 4), folded_plan({.dp = 3}, 3, 1),
                           folded_plan({.dp = 6}, 2, 3)}) {
    WorkloadSpec workload{.seq_len = 16, .global_batch = 12};
    const TrainResult same = test::run(model, fp32_plan(), config, workload);
    test::expect_close(test::run(model, plan, config, workload).gradients, same.gradients, 1e-5);
  }
}

// torchtitan#3604: rows combined by the indices of the whole sequence under sequence parallelism.
TEST(MoeBugs, CombineUnderSequenceParallelism) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult without = test::run(model, folded_plan({.dp = 2}, 1, 2), skewed());
  const TrainResult with = test::run(model, folded_plan({.tp = 2}, 1, 2), skewed());
  EXPECT_NEAR(with.steps[0].loss, without.steps[0].loss, 1e-5 * without.steps[0].loss);
  test::expect_close(with.gradients, without.gradients, 1e-5);
}

// NVIDIA/Megatron-LM#3575: fewer key and value heads than tensor-parallel ranks.
TEST(MoeBugs, FewerKeyHeadsThanTpRanks) {
  for (const std::int64_t groups : {1, 2}) {
    ModelSpec model = test::biased(test::small_moe());
    model.attention.kv_groups = groups;
    model.attention.qk_norm = true;
    const TrainResult one = test::run(model, fp32_plan(), plain_steps());
    expect_same(test::run(model, folded_plan({.tp = 4, .dp = 2}, 1, 2), plain_steps()), one);
  }
}

}  // namespace
}  // namespace pleat
