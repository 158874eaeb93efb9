// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which norms and activations make codes themselves, and which must not.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/program/well_formed.hpp"
#include "tests/support/fused_programs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::fused_names;
using test::in_blocks;
using Names = std::set<std::string>;

Plan narrow(Precision precision = Precision::mxfp8, Plan plan = fp32_plan()) {
  plan.precision = precision;
  plan.fp8_params = false;
  return plan;
}

LayerProgram quantized_layer(LayerKind kind, const ModelSpec& model, const Plan& plan,
                             Runtime runtime = Runtime::pleat) {
  const Program program = compile(model, {.seq_len = 32, .global_batch = 8}, plan, runtime);
  for (const LayerProgram& layer : program.stages[0].layers) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no such layer";
  return {};
}

const Op& named(const std::vector<Op>& ops, const std::string& name) {
  const auto op = std::ranges::find(ops, name, &Op::name);
  EXPECT_NE(op, ops.end()) << name;
  return op == ops.end() ? ops.front() : *op;
}

bool lives(const LayerProgram& layer, const std::string& tensor) {
  return std::ranges::any_of(
      layer.lives, [&](const Lifetime& life) { return layer.tensor(life.tensor).name == tensor; });
}

TEST(QuantizeFusion, WhatProductsAloneReadIsMadeAsCodes) {
  for (const Precision precision : {Precision::mxfp8, Precision::fp8_block}) {
    const ModelSpec model = in_blocks(test::small_moe());
    const LayerProgram dense = quantized_layer(LayerKind::dense, model, narrow(precision));
    EXPECT_EQ(fused_names(dense.forward), (Names{"attn_norm", "mlp_norm", "mlp_act"}));
    const LayerProgram moe = quantized_layer(LayerKind::moe, model, narrow(precision));
    EXPECT_EQ(fused_names(moe.forward), (Names{"attn_norm", "experts.act", "shared.act"}));
    EXPECT_EQ(named(moe.forward, "mlp_norm").kind, OpKind::rms_norm);  // the router reads it wide
    EXPECT_EQ(fused_names(moe.backward), Names{});
    for (const char* gone : {"attn_norm", "experts.act", "shared.act"}) {
      EXPECT_FALSE(lives(moe, gone)) << gone;
      EXPECT_TRUE(lives(moe, std::string(gone) + ".row")) << gone;
    }
    const LayerProgram latent =
        quantized_layer(LayerKind::moe, in_blocks(test::small_mla()), narrow(precision));
    EXPECT_TRUE(fused_names(latent.forward).contains("attn_norm"));
    EXPECT_GE(fused_names(latent.forward).size(), 4U);  // and that of the queries' latent
  }
}

TEST(QuantizeFusion, OperandsAreThoseOfThePartsInOrder) {
  const LayerProgram moe =
      quantized_layer(LayerKind::moe, in_blocks(test::small_moe()), narrow(Precision::mxfp8));
  const auto names = [&](const std::vector<TensorId>& ids) {
    std::vector<std::string> all;
    for (TensorId id : ids) all.push_back(moe.tensor(id).name);
    return all;
  };
  using List = std::vector<std::string>;
  const Op& norm = named(moe.forward, "attn_norm");
  EXPECT_EQ(names(norm.in), (List{"x", "W.attn_norm"}));
  EXPECT_EQ(names(norm.out), (List{"attn_norm.row", "attn_norm.col", "attn_norm.rstd"}));
  EXPECT_EQ(moe.tensor(norm.attr.source).name, "attn_norm");
  EXPECT_GT(norm.attr.eps, 0);
  const Op& act = named(moe.forward, "experts.act");
  EXPECT_EQ(names(act.in).front(), "experts.fc1");
  EXPECT_EQ(act.in.size(), 3U);
  EXPECT_EQ(names(act.out), (List{"experts.act.row", "experts.act.col"}));
  EXPECT_EQ(act.in.back(), named(moe.forward, "experts.fc2").in[2]);  // rows of each expert
  EXPECT_EQ(named(moe.forward, "shared.act").in.size(), 1U);
}

// The sum with the residual is made in the same kernel, and kept.
TEST(QuantizeFusion, ANormTakesTheSumBeforeIt) {
  const LayerProgram dense =
      quantized_layer(LayerKind::dense, in_blocks(test::small_moe()), narrow(Precision::fp8_block));
  const Op& norm = named(dense.forward, "mlp_norm");
  ASSERT_EQ(norm.in.size(), 3U);
  ASSERT_EQ(norm.out.size(), 4U);
  const std::string sum = dense.tensor(norm.out[3]).name;
  EXPECT_TRUE(std::ranges::none_of(dense.forward, [&](const Op& op) { return op.name == sum; }));
  EXPECT_TRUE(std::ranges::count(named(dense.backward, "mlp_norm.bwd").in, norm.out[3]) == 1);
  EXPECT_EQ(dense.tensor(norm.in[0]).name, "x");
}

TEST(QuantizeFusion, OthersStayAsTheyAre) {
  const ModelSpec model = in_blocks(test::small_moe());
  for (const Precision p : {Precision::fp32, Precision::bf16, Precision::fp8,
                            Precision::fp8_delayed, Precision::nvfp4}) {
    const LayerProgram layer = quantized_layer(LayerKind::moe, model, narrow(p));
    EXPECT_EQ(fused_names(layer.forward), Names{}) << name_of(p);
  }
  EXPECT_EQ(
      fused_names(quantized_layer(LayerKind::moe, model, narrow(), Runtime::megatron).forward),
      Names{});
  ModelSpec centered = model;
  centered.norm = NormKind::layer_norm;
  EXPECT_EQ(fused_names(quantized_layer(LayerKind::moe, centered, narrow()).forward),
            (Names{"experts.act", "shared.act"}));
  ModelSpec clamped = model;
  clamped.activation = Activation::clamped_swiglu;
  EXPECT_EQ(fused_names(quantized_layer(LayerKind::moe, clamped, narrow()).forward),
            Names{"attn_norm"});
  ModelSpec uneven = model;  // no whole blocks of 32 columns
  uneven.moe->ffn = 80;
  EXPECT_EQ(fused_names(quantized_layer(LayerKind::moe, uneven, narrow()).forward),
            (Names{"attn_norm", "shared.act"}));
}

// Both lists, what was saved is saved still, and what is computed again makes codes again.
TEST(QuantizeFusion, RecomputeDecidesFirst) {
  const ModelSpec model = in_blocks(test::small_moe());
  Plan full = narrow();
  full.recompute_full = true;
  const LayerProgram moe = quantized_layer(LayerKind::moe, model, full);
  EXPECT_EQ(fused_names(moe.forward), (Names{"attn_norm", "experts.act", "shared.act"}));
  EXPECT_EQ(fused_names(moe.backward),
            (Names{"attn_norm.again", "experts.act.again", "shared.act.again"}));
  // The MLP quantises its input again: that is saved, wide.
  Plan mlp = narrow();
  mlp.recompute = {Module::mlp};
  const LayerProgram dense = quantized_layer(LayerKind::dense, model, mlp);
  EXPECT_EQ(named(dense.forward, "mlp_norm").kind, OpKind::rms_norm);
  EXPECT_TRUE(std::ranges::any_of(saved_tensors(dense),
                                  [&](TensorId t) { return dense.tensor(t).name == "mlp_norm"; }));
}

TEST(QuantizeFusion, LeavesProgramsWellFormed) {
  Plan full = narrow(), modules = narrow(), paired = narrow(Precision::mxfp8, fp32_plan(2, 2)),
       away = narrow(), zero3 = narrow(Precision::mxfp8, fp32_plan(4, 2));
  full.recompute_full = true;
  modules.recompute = {Module::layernorm, Module::moe_act, Module::mlp, Module::shared_experts};
  paired.overlap.expert_parallel = paired.overlap.delay_wgrad = true;
  away.offload = {Offload::attn_norm, Offload::qkv_linear, Offload::expert_fc1, Offload::moe_act};
  zero3.sharding = Sharding::zero3;
  for (const Plan& plan : {narrow(), full, modules, paired, away, zero3,
                           narrow(Precision::fp8_block, test::tp_plan(2, 2, 2))}) {
    for (const ModelSpec& model : {in_blocks(test::small_moe()), in_blocks(test::small_mla())}) {
      const Program program =
          compile(model, {.seq_len = 32, .global_batch = 8}, plan, Runtime::pleat);
      EXPECT_GT(test::fused_ops(program), 5) << summary(plan);
      for (const StageProgram& stage : program.stages) {
        for (const LayerProgram& layer : stage.layers) {
          if (layer.kind == LayerKind::recv || layer.kind == LayerKind::send) continue;
          if (plan.sharding != Sharding::zero3) {
            EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{}) << summary(plan);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pleat
