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

TrainConfig skewed_steps(int steps = 1) {
  TrainConfig config = test::small_config(steps);
  test::skew(config);
  return config;
}

// Steps proportional to the gradient: a wrong factor of the gradient shows in the weights.
TrainConfig plain_steps() {
  TrainConfig config = skewed_steps(2);
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
  for (const Plan& plan :
       {folded_plan({.tp = 2, .dp = 2}, 1, 4), folded_plan({.tp = 2, .dp = 2}, 2, 2),
        folded_plan({.tp = 2, .pp = 2}, 1, 2), folded_plan({.dp = 4, .pp = 2}, 1, 2)}) {
    SCOPED_TRACE(summary(plan));
    expect_same(test::run(model, plan, config), one);
  }
}

// torchtitan#4054, #1878, #2416: the gradient below experts and router is not summed over TP. It is
// the first layer's and the embedding's that are wrong then.
TEST(MoeBugs, GradientBelowTheExpertsNotSummedOverTp) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), skewed_steps());
  for (const int ep : {1, 4}) {
    const TrainResult many = test::run(model, folded_plan({.tp = 4}, 1, ep), skewed_steps());
    for (const char* name : {"embedding", "layers.0.attn_norm", "layers.0.qkv", "layers.1.mlp_norm",
                             "layers.1.router"}) {
      EXPECT_LE(test::relative_difference(many.gradients.at(name), one.gradients.at(name)), 1e-5)
          << name;
    }
  }
}

// TransformerEngine#3067, #2765: experts without tokens. All tokens go to experts 0 and 1, which
// one rank has: the others receive nothing.
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

// NVIDIA/Megatron-LM 54d4b3d: wrong counts for the local experts where TP > 1, EP > 1 and a rank
// has several of them. With every dispatcher, forth and back is what one rank does.
TEST(MoeBugs, CountsOfSeveralLocalExpertsWithTpAndEp) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), skewed_steps());
  for (const Dispatcher d :
       {Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::hierarchical}) {
    for (const int ep : {2, 4}) {  // 4 and 2 local experts
      Plan plan = folded_plan({.tp = 2, .dp = 2}, 1, ep);
      plan.dispatcher = d;
      const TrainResult many = test::run(model, plan, skewed_steps());
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
  const TrainResult without = test::run(model, folded_plan({.dp = 2}, 1, 2), skewed_steps());
  const TrainResult with = test::run(model, folded_plan({.tp = 2}, 1, 2), skewed_steps());
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

// Every bias, and every sink, away from its zero.
void fill_biases(const std::string& name, std::span<float> values) {
  if (!name.ends_with("bias") && !name.ends_with("sinks")) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.03F * static_cast<float>(static_cast<int>((i * 7 + name.size()) % 11) - 5);
  }
}

// NVIDIA/Megatron-LM#5850, NeMo Automodel#2591: fc2's bias added whole, not weighted by the
// router's probability. Experts that all answer with the same bias, and nothing else, add just that
// bias to every token's residual, for their probabilities sum up to one: what the output projection
// of attention adds with the same bias.
TEST(MoeBugs, DownProjectionBiasNotWeightedByProbability) {
  ModelSpec model = test::small_moe();
  model.moe->mlp_bias = model.attention.out_bias = model.attention.qkv_bias = true;
  model.moe->shared_ffn = 0;
  const auto loss = [&](const std::string& where, const ModelSpec& m) {
    TrainConfig config = test::small_config();
    config.adjust_weight = [&where](const std::string& name, std::span<float> values) {
      const bool expert = name.find(".experts.") != std::string::npos;
      if (expert) std::fill(values.begin(), values.end(), 0.0F);
      for (float& v : values) v *= name == "head" ? 40 : 1;
      if (!name.starts_with("layers.1.") || !name.ends_with(where)) return;
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 2.0F * static_cast<float>(static_cast<int>(i % 5) - 1);
      }
    };
    return test::run(m, fp32_plan(), config).steps[0].loss;
  };
  const double none = loss("nothing", model), by_attention = loss("attn_proj.bias", model);
  EXPECT_GT(std::abs(by_attention - none), 1e-3 * none);
  EXPECT_NEAR(loss("fc2.bias", model), by_attention, 1e-6 * none);
  model.moe->scaling_factor = 2.5;  // weighted is scaled
  EXPECT_GT(std::abs(loss("fc2.bias", model) - by_attention), 1e-3 * none);
}

// The same with expert tensor parallelism, whose members each add a part of the bias, once
// together; their copies of its gradient count once in the norm (NVIDIA/Megatron-LM#6099).
TEST(MoeBugs, BiasesOfExpertsOverEveryDivision) {
  ModelSpec model = test::small_moe();
  model.moe->mlp_bias = true;
  TrainConfig config = plain_steps();
  config.clip_norm = 0.05;
  config.adjust_weight = fill_biases;
  const TrainResult one = test::run(model, fp32_plan(), config);
  ASSERT_GT(one.steps[0].grad_norm, 2 * config.clip_norm);
  const auto has_gradient = [](const auto& entry) {
    const auto& [name, g] = entry;
    return name.ends_with("fc2.bias") && std::count(g.begin(), g.end(), 0.0F) != std::ssize(g);
  };
  EXPECT_GE(std::ranges::count_if(one.gradients, has_gradient), 3);
  for (const Dispatcher d : {Dispatcher::alltoall, Dispatcher::allgather}) {
    for (const auto& [etp, ep] : {std::pair{1, 4}, {2, 2}, {4, 1}, {2, 1}}) {
      Plan plan = folded_plan({.tp = 2, .dp = 2}, etp, ep);
      plan.dispatcher = ep > 1 ? d : Dispatcher::alltoall;
      plan.sharding = etp == 2 && ep == 2 ? Sharding::zero3 : Sharding::zero1;
      SCOPED_TRACE(summary(plan));
      expect_same(test::run(model, plan, config), one);
    }
  }
}

// Sinks of the heads that a rank works on, whichever way context parallelism shares them.
TEST(MoeBugs, SinksOverEveryDivisionOfHeads) {
  ModelSpec model = test::small_moe();
  model.attention.sinks = true;
  TrainConfig config = plain_steps();
  config.adjust_weight = fill_biases;
  const TrainResult one = test::run(model, fp32_plan(), config);
  for (const CpComm comm :
       {CpComm::p2p, CpComm::all_gather, CpComm::all_to_all, CpComm::a2a_p2p}) {
    for (const int tp : {1, 2}) {
      const int cp = comm == CpComm::a2a_p2p ? 4 : 2;
      Plan plan = folded_plan({.tp = tp, .cp = cp, .dp = 1}, 1, 2);
      plan.cp_comm = comm;
      if (comm == CpComm::a2a_p2p) plan.cp_a2a = 2;
      SCOPED_TRACE(summary(plan));
      expect_same(test::run(model, plan, config), one);
    }
  }
}

// A step along a bias' or a sink's gradient changes the loss by what the gradient says.
TEST(MoeBugs, GradientsOfBiasesAndSinksAreSlopesOfTheLoss) {
  ModelSpec model = test::small_moe();
  model.moe->mlp_bias = model.attention.sinks = true;
  TrainConfig config = test::small_config();
  const auto start = [](const std::string& name, std::span<float> values) {
    fill_biases(name, values);
    // Gradients far above rounding, and no decision that a small step changes.
    const bool output = name.ends_with("experts.0.fc2.bias");
    for (float& v : values) v *= name == "head" ? 40 : name.ends_with("router") || output ? 20 : 1;
  };
  config.adjust_weight = start;
  config.seed = 19;
  const TrainResult at = test::run(model, fp32_plan(), config);
  for (const std::string name :
       {"layers.1.experts.0.fc1.bias", "layers.2.experts.0.fc2.bias", "layers.0.sinks",
        "layers.3.sinks", "layers.1.router"}) {
    const std::vector<float>& g = at.gradients.at(name);
    double squares = 0;
    for (const float v : g) squares += static_cast<double>(v) * static_cast<double>(v);
    const double norm = std::sqrt(squares), length = name.ends_with("router") ? 0.01 : 0.1;
    const auto loss = [&](double factor) {
      TrainConfig moved = config;
      moved.adjust_weight = [&](const std::string& n, std::span<float> values) {
        start(n, values);
        if (n != name) return;
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] += static_cast<float>(factor * length / norm * static_cast<double>(g[i]));
        }
      };
      return test::run(model, fp32_plan(), moved).steps[0].loss;
    };
    EXPECT_NEAR((loss(1) - loss(-1)) / (2 * length), norm, 0.02 * norm) << name;
  }
}

}  // namespace
}  // namespace pleat
