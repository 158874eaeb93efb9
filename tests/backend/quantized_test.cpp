// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training with quantised products: near to bf16, the same in every layout and every time, as many
// bytes as predicted.
#include <gtest/gtest.h>

#include <ostream>

#include "backend/quantization_recipe.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

struct Recipe {
  const char* name;
  Precision precision;
  double loss, gradient;  // tolerated distance from bf16
  friend std::ostream& operator<<(std::ostream& out, const Recipe& r) { return out << r.name; }
};

const WorkloadSpec kLonger{.seq_len = 32, .global_batch = 8};

Plan plan_of(const Recipe& r, Plan plan = fp32_plan()) {
  plan.precision = r.precision;
  plan.fp8_params = false;
  return plan;
}

ModelSpec named_dense() {
  ModelSpec m = test::small_moe();
  m.name = "small-dense";
  m.moe.reset();
  m.moe_layer.assign(4, false);
  return m;
}

class Quantized : public testing::TestWithParam<Recipe> {};

// Text that can be learnt: three of four tokens follow from the one before.
TrainConfig learnable(int steps) {
  TrainConfig config = test::small_config(steps);
  config.keep_gradients = false;
  config.adamw.lr = 3e-3;
  for (std::size_t i = 1; i < config.text.size(); ++i) {
    const int random = config.text[i];
    if (random % 4 != 0) {
      config.text[i] = static_cast<std::uint8_t>((5 * config.text[i - 1] + 1) % 64);
    }
  }
  return config;
}

std::vector<StepRecord> in_bf16(const ModelSpec& model, const TrainConfig& config) {
  static std::map<std::string, std::vector<StepRecord>> known;
  std::vector<StepRecord>& steps = known[model.name];
  Plan plan = fp32_plan();
  plan.precision = Precision::bf16;
  if (steps.empty()) steps = test::run(model, plan, config).steps;
  return steps;
}

TEST_P(Quantized, LossFollowsBf16) {
  const TrainConfig config = learnable(20);
  for (const ModelSpec& model : {named_dense(), test::small_moe()}) {
    const std::vector<StepRecord> wide = in_bf16(model, config);
    const std::vector<StepRecord> narrow = test::run(model, plan_of(GetParam()), config).steps;
    EXPECT_LT(narrow.back().loss, 0.8 * narrow.front().loss);
    for (std::size_t s = 0; s < wide.size(); ++s) {
      EXPECT_NEAR(narrow[s].loss, wide[s].loss, GetParam().loss * wide[s].loss) << s;
    }
  }
}

// One step's gradients are off by what the bits allow, and by something.
TEST_P(Quantized, GradientsAreThoseOfRoundedOperands) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  Plan wide = fp32_plan();
  wide.precision = Precision::bf16;
  const TrainResult reference = test::run(test::small_moe(), wide, config);
  const TrainResult narrow = test::run(test::small_moe(), plan_of(GetParam()), config);
  test::expect_close(narrow.gradients, reference.gradients, GetParam().gradient);
  const std::string name = "layers.2.experts.3.fc1";
  EXPECT_GT(test::relative_difference(narrow.gradients.at(name), reference.gradients.at(name)),
            0.01);
}

TEST_P(Quantized, RepeatsAndPipelinesAreTheSameBits) {
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0;
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    const TrainResult one = test::run(model, plan_of(GetParam()), config);
    Plan recomputed = plan_of(GetParam());
    recomputed.recompute_full = true;
    for (const Plan& plan :
         {plan_of(GetParam()), plan_of(GetParam(), fp32_plan(1, 1, 2)), recomputed}) {
      const TrainResult again = test::run(model, plan, config);
      for (std::size_t s = 0; s < 2; ++s) EXPECT_EQ(again.steps[s].loss, one.steps[s].loss);
      test::expect_same_bits(again.weights, one.weights);
    }
  }
}

std::vector<Plan> quantized_layouts(const Recipe& r) {
  Plan allgather = fp32_plan(4, 4), context = test::folded_plan({1, 2, 2, 1}, 1, 2);
  allgather.dispatcher = Dispatcher::allgather;
  Plan zero2 = fp32_plan(4, 2), act = fp32_plan(2, 2);
  zero2.sharding = Sharding::zero2;
  act.recompute = {Module::moe_act, Module::layernorm};
  std::vector<Plan> all;
  for (const Plan& p : {fp32_plan(), fp32_plan(2, 2, 2), zero2, allgather, act, context,
                        test::folded_plan({1, 1, 4, 1}, 2, 2), test::tp_plan(2, 2, 2)}) {
    all.push_back(plan_of(r, p));
  }
  return all;
}

TEST_P(Quantized, MemoryIsPredictedToTheByte) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  config.keep_gradients = false;
  const std::vector<Plan> plans = quantized_layouts(GetParam());
  for (const Plan& plan : plans) {
    const bool latent = &plan - plans.data() < 2 || plan.attention.tp > 1;
    for (const ModelSpec& model : {latent ? test::small_mla() : test::small_moe()}) {
      const Program program = compile(model, kLonger, plan, Runtime::pleat);
      const TrainResult result = train(program, config);
      const std::int64_t balanced = balanced_routed_tokens(model, kLonger, plan);
      for (int r = 0; r < plan.world(); ++r) {
        const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
        EXPECT_EQ(result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
                  peak_live_bytes(program.stages[stage],
                                  [&](MicroBatch, LayerIndex) { return balanced; }))
            << summary(plan) << " " << model.name << " rank " << r;
      }
    }
  }
}

// The output projection too: in every layout, in as many bytes as predicted, something else than
// before.
TEST_P(Quantized, NarrowOutputProjection) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const auto run = [&](Plan plan, bool narrow) {
    plan.fp8_head = narrow;
    const Program program = compile(test::small_moe(), kLonger, plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(program.model, kLonger, plan);
    EXPECT_EQ(result.ranks[0].peak_live_bytes,
              peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; }));
    return result;
  };
  Plan zero3 = fp32_plan(4, 4);
  zero3.sharding = Sharding::zero3;
  const TrainResult wide = run(plan_of(GetParam()), false);
  const TrainResult one = run(plan_of(GetParam()), true);
  EXPECT_NE(one.gradients.at("head"), wide.gradients.at("head"));
  for (const Plan& layout : {fp32_plan(1, 1, 2), zero3, test::tp_plan(2)}) {
    for (const bool kept : {false, true}) {
      Plan plan = plan_of(GetParam(), layout);
      plan.fp8_params = kept;
      const TrainResult many = run(plan, true);
      EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 2e-3 * one.steps[0].loss);
      test::expect_close(many.gradients, one.gradients, 1.5 * GetParam().gradient);
    }
  }
}

// Codes in the place of the weights, which come back before they are changed, saved or evaluated.
TEST_P(Quantized, WeightsKeptNarrowAreTheSameBitsInLessMemory) {
  if (GetParam().precision == Precision::nvfp4) return;  // has copies beside the weights
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0.5;
  config.forced_routing = true;
  config.evaluation = {
      .data = std::make_shared<ConsecutiveBytes>(config.text, kLonger.seq_len), .batches = 1};
  std::vector<Plan> plans = quantized_layouts(GetParam());
  plans.push_back(plans[1]);
  plans.back().optimizer.state_offload = 0.4;
  const bool all = GetParam().precision == Precision::fp8;  // every second one for the others
  for (std::size_t p = 0; p < plans.size(); p += all ? 1 : 2) {
    Plan& plan = plans[p];
    const TrainResult beside = test::run(test::small_moe(), plan, config, kLonger);
    plan.fp8_params = true;
    SCOPED_TRACE(summary(plan));
    const Program program = compile(test::small_moe(), kLonger, plan, Runtime::pleat);
    const TrainResult kept = train(program, config);
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(kept.steps[s].loss, beside.steps[s].loss);
      EXPECT_EQ(kept.steps[s].grad_norm, beside.steps[s].grad_norm);
    }
    EXPECT_EQ(*kept.steps[1].validation_loss, *beside.steps[1].validation_loss);
    test::expect_same_bits(kept.weights, beside.weights);
    const std::int64_t balanced = balanced_routed_tokens(program.model, kLonger, plan);
    for (int r = 0; r < plan.world(); ++r) {
      const auto i = static_cast<std::size_t>(r);
      const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
      EXPECT_EQ(kept.ranks[i].peak_live_bytes,
                peak_live_bytes(program.stages[stage],
                                [&](MicroBatch, LayerIndex) { return balanced; }));
      EXPECT_LT(kept.ranks[i].peak_live_bytes, beside.ranks[i].peak_live_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, Quantized,
                         testing::Values(Recipe{"fp8", Precision::fp8, 0.01, 0.15},
                                         Recipe{"fp8_delayed", Precision::fp8_delayed, 0.01, 0.15},
                                         Recipe{"fp8_block", Precision::fp8_block, 0.01, 0.15},
                                         Recipe{"mxfp8", Precision::mxfp8, 0.01, 0.15},
                                         Recipe{"nvfp4", Precision::nvfp4, 0.01, 0.5}),
                         [](const auto& info) { return std::string(info.param.name); });

// Tokens of different data-parallel ranks are quantised apart, with scales for blocks along a row
// nothing of that shows: forward losses are those of one rank.
TEST(QuantizedLayouts, BlocksWithinARowDoNotSeeOtherRanks) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const Recipe mx{"mxfp8", Precision::mxfp8, 0, 0};
  const TrainResult one = test::run(test::small_moe(), plan_of(mx), config);
  for (const Plan& plan : {fp32_plan(4, 2), fp32_plan(2, 2, 2)}) {
    const TrainResult many = test::run(test::small_moe(), plan_of(mx, plan), config);
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-6 * one.steps[0].loss);
  }
}

// Each rank of tp has scales of its own for its tokens and its share of the columns: two roundings
// of the same numbers apart. A share of 16 rows is what a Hadamard matrix turns.
TEST_P(Quantized, TensorParallelRanksComputeWhatOneDoes) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  for (const ModelSpec& model : {named_dense(), test::small_moe(), test::small_mla()}) {
    const TrainResult one = test::run(model, plan_of(GetParam()), config, kLonger);
    const TrainResult many =
        test::run(model, plan_of(GetParam(), test::tp_plan(2)), config, kLonger);
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 2e-3 * one.steps[0].loss);
    test::expect_close(many.gradients, one.gradients, 1.5 * GetParam().gradient);
  }
}

// Where a TP rank has no whole blocks of 16 tokens what it gathers is wide, and quantised then.
TEST(QuantizedLayouts, BlocksOfTokensOnSeveralTpRanks) {
  const WorkloadSpec workload{.seq_len = 16, .global_batch = 8};  // 8 tokens each
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const Recipe four{"nvfp4", Precision::nvfp4, 0, 0};
  for (const ModelSpec& model : {named_dense(), test::small_moe(), test::small_mla()}) {
    const TrainResult one = test::run(model, plan_of(four), config, workload);
    for (const Plan& layout : {test::tp_plan(2), test::tp_plan(4, 1, 2)}) {
      const Plan plan = plan_of(four, layout);
      const Program program = compile(model, workload, plan, Runtime::pleat);
      const TrainResult many = train(program, config);
      EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 2e-3 * one.steps[0].loss);
      test::expect_close(many.gradients, one.gradients, 0.75);
      const std::int64_t balanced = balanced_routed_tokens(model, workload, plan);
      EXPECT_EQ(
          many.ranks[0].peak_live_bytes,
          peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; }));
    }
  }
}

// Attention's operands too: near to wide ones and not the same, whole or by pieces of the keys, on
// latents, in as many bytes; recompute and pipelines change no bit, ranks of tp have heads of their
// own.
TEST_P(Quantized, NarrowAttention) {
  const Precision p = GetParam().precision;
  if (p != Precision::fp8 && p != Precision::mxfp8) return;  // attention is as with fp8
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const auto run = [&](const ModelSpec& model, Plan plan, bool narrow) {
    plan.fp8_attention = narrow;
    const Program program = compile(model, kLonger, plan, Runtime::pleat);
    TrainResult result = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(model, kLonger, plan);
    EXPECT_EQ(result.ranks[0].peak_live_bytes,
              peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; }));
    return result;
  };
  ModelSpec sinks = test::small_moe();
  sinks.attention.sinks = true;
  const double tolerance =
      2 * GetParam().gradient;  // products before, between and behind are narrow
  for (const ModelSpec& model : {test::small_mla(), sinks}) {
    const TrainResult wide = run(model, plan_of(GetParam()), false);
    const TrainResult one = run(model, plan_of(GetParam()), true);
    EXPECT_NEAR(one.steps[0].loss, wide.steps[0].loss, 2e-3 * wide.steps[0].loss);
    EXPECT_NE(one.steps[0].loss, wide.steps[0].loss);
    test::expect_close(one.gradients, wide.gradients, tolerance);
    Plan recomputed = plan_of(GetParam());
    recomputed.recompute_full = true;
    for (const Plan& plan : {plan_of(GetParam(), fp32_plan(1, 1, 2)), recomputed}) {
      test::expect_same_bits(run(model, plan, true).gradients, one.gradients);
    }
    for (const Plan& plan : {test::tp_plan(2), test::folded_plan({1, 2, 2, 1}, 1, 2)}) {
      const TrainResult many = run(model, plan_of(GetParam(), plan), true);
      EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 2e-3 * one.steps[0].loss);
      test::expect_close(many.gradients, one.gradients, tolerance);
    }
  }
}

// A bias' gradient is the sum of the rows, not of those that NVFP4 mixes for the weight's.
TEST_P(Quantized, BiasesAddUpRowsAsTheyAre) {
  ModelSpec model = test::small_moe();
  model.attention.qkv_bias = model.attention.out_bias = model.mlp_bias = true;
  model.moe->mlp_bias = true;
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  config.adjust_weight = [](const std::string& name, std::span<float> values) {
    if (!name.ends_with("bias")) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.02F * static_cast<float>(static_cast<int>(i % 7) - 3);
    }
  };
  Plan wide = fp32_plan();
  wide.precision = Precision::bf16;
  const TrainResult reference = test::run(model, wide, config, kLonger);
  for (const Plan& layout : {fp32_plan(), fp32_plan(4, 2), test::folded_plan({1, 1, 4, 1}, 2, 2)}) {
    const Plan plan = plan_of(GetParam(), layout);
    const Program program = compile(model, kLonger, plan, Runtime::pleat);
    const TrainResult narrow = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(model, kLonger, plan);
    EXPECT_EQ(narrow.ranks[0].peak_live_bytes,
              peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; }));
    for (const std::string name :
         {"layers.1.qkv.bias", "layers.2.attn_proj.bias", "layers.0.fc1.bias",
          "layers.1.experts.3.fc1.bias", "layers.3.experts.0.fc2.bias"}) {
      EXPECT_LE(test::relative_difference(narrow.gradients.at(name), reference.gradients.at(name)),
                1.5 * GetParam().gradient)
          << name << " " << summary(plan);
    }
  }
}

TEST(QuantizedLayouts, WhatIsNotEmulatedIsRefused) {
  const auto refusal = [](auto change, const ModelSpec& model = test::small_moe()) {
    Plan plan = plan_of({"fp8", Precision::fp8, 0, 0});
    change(plan);
    try {
      (void)test::run(model, plan, test::small_config());
    } catch (const ConfigError& e) {
      return e.diagnostics()[0].message;
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](Plan& p) { p.precision = Precision::fp16; }),
            "this backend has no fp16, whose gradients vanish without loss scaling");
  EXPECT_EQ(refusal([](Plan& p) { p.fp8_head = true; }), "");
  ModelSpec tied = test::small_moe();
  tied.tied_embeddings = true;
  EXPECT_EQ(refusal([](Plan& p) { p.fp8_head = true; }, tied),
            "this backend reads a table that is the output projection too in bf16");
}

TEST(QuantizationRecipe, BlocksLieAlongTheProduct) {
  using enum ProductOperand;
  const PhiloxKey key{1, 2};
  EXPECT_EQ(quantization_of(Precision::fp8, gradient, true, key).format, SmallFloat::e5m2);
  EXPECT_EQ(quantization_of(Precision::fp8, activation, true, key).format, SmallFloat::e4m3);
  const Quantization row = quantization_of(Precision::mxfp8, gradient, false, key);
  EXPECT_EQ(row.block_rows, 1);
  EXPECT_EQ(row.block_cols, 32);
  const Quantization column = quantization_of(Precision::fp8_block, activation, true, key);
  EXPECT_EQ(column.block_rows, 128);
  EXPECT_EQ(column.block_cols, 1);
  EXPECT_EQ(quantization_of(Precision::fp8_block, weight, true, key).block_cols, 128);
  const Quantization four = quantization_of(Precision::nvfp4, gradient, true, key);
  EXPECT_TRUE(four.hadamard && four.stochastic);
  EXPECT_FALSE(quantization_of(Precision::nvfp4, activation, true, key).stochastic);
  EXPECT_FALSE(quantization_of(Precision::nvfp4, gradient, false, key).hadamard);
  EXPECT_FALSE(quantization_of(Precision::nvfp4, weight, true, key).hadamard);
}

}  // namespace
}  // namespace pleat
