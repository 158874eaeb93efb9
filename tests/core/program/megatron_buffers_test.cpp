// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What Megatron holds beside the tensors of the mathematics, and Pleat does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/program/program.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::small_mla;
using test::small_moe;
using test::small_workload;

Plan split_bf16_plan(int tp, int cp, int ep) {
  Plan p = test::fp32_plan(ep, ep);
  p.precision = Precision::bf16;
  p.attention.tp = tp;
  p.attention.cp = cp;
  p.expert.edp = p.attention.dp * tp * cp / ep;
  return p;
}

LayerProgram megatron_layer(const ModelSpec& model, const Plan& plan, LayerKind kind,
                            Runtime runtime) {
  const Program program = compile(model, small_workload(), plan, runtime);
  for (const LayerProgram& layer : program.stages[0].layers) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no such layer";
  return {};
}

std::map<std::string, std::int64_t> saved(const LayerProgram& layer) {
  std::map<std::string, std::int64_t> bytes;
  for (TensorId id : saved_tensors(layer)) {
    bytes[layer.tensor(id).name] = layer.tensor(id).bytes({.routed = 32});
  }
  return bytes;
}

// Saved by Megatron's layer and not by Pleat's, with bytes.
std::map<std::string, std::int64_t> saved_more(const ModelSpec& model, const Plan& plan,
                                               LayerKind kind) {
  auto more = saved(megatron_layer(model, plan, kind, Runtime::megatron));
  for (const auto& [name, bytes] : saved(megatron_layer(model, plan, kind, Runtime::pleat))) {
    EXPECT_EQ(more[name], bytes) << name;
    more.erase(name);
  }
  return more;
}

using Bytes2 = std::map<std::string, std::int64_t>;

// 16 tokens, 8 experts: fp32 probabilities and a byte a token and expert, and rows by expert.
TEST(MegatronBuffers, RoutersKeepMapsOfAllExperts) {
  EXPECT_EQ(saved_more(small_moe(), split_bf16_plan(1, 1, 2), LayerKind::moe),
            (Bytes2{{"router.all_probs", 512}, {"router.map", 128}, {"row_id_map", 512}}));
  Plan plan = split_bf16_plan(1, 1, 2);
  plan.recompute = {Module::moe};
  EXPECT_EQ(saved(megatron_layer(small_moe(), plan, LayerKind::moe, Runtime::megatron))
                .count("row_id_map"),
            0u);
}

TEST(MegatronBuffers, LatentAttentionKeepsTheRotaryPartOfEveryHead) {
  // 16 tokens, 4 heads, 4 rotary columns, bf16
  EXPECT_EQ(saved_more(small_mla(), split_bf16_plan(1, 1, 1), LayerKind::dense),
            (Bytes2{{"k_rotary", 16 * 4 * 4 * 2}}));
  EXPECT_EQ(saved_more(small_moe(), split_bf16_plan(1, 1, 1), LayerKind::dense), Bytes2{});
}

TEST(MegatronBuffers, UpProjectionRecomputesTheWholeKeys) {
  Plan plan = split_bf16_plan(1, 1, 1);
  plan.recompute = {Module::mla_up_proj};
  EXPECT_EQ(saved_more(small_mla(), plan, LayerKind::dense), Bytes2{});
}

TEST(MegatronBuffers, HeadsForSequenceKeepsBothOutputs) {
  Plan plan = split_bf16_plan(1, 2, 1);
  EXPECT_EQ(saved_more(small_moe(), plan, LayerKind::dense), Bytes2{});
  plan.cp_comm = CpComm::all_to_all;
  // 16 tokens, half of 4 heads and 2 groups of 8 columns, bf16; what goes to the projection as well
  EXPECT_EQ(saved_more(small_moe(), plan, LayerKind::dense), Bytes2{});
  auto kept = saved(megatron_layer(small_moe(), plan, LayerKind::dense, Runtime::megatron));
  EXPECT_EQ(kept.at("qkv.heads"), 16 * (2 + 1 + 1) * 8 * 2);
  EXPECT_EQ(kept.at("attn"), 16 * 2 * 8 * 2);
  EXPECT_EQ(kept.at("attn.tokens"), 8 * 4 * 8 * 2);
  EXPECT_FALSE(kept.contains("qkv"));
}

TEST(MegatronBuffers, RecomputedCoreKeepsItsOutputForTheProjection) {
  Plan plan = split_bf16_plan(1, 1, 1);
  plan.recompute = {Module::core_attn};
  EXPECT_EQ(saved_more(small_moe(), plan, LayerKind::dense), (Bytes2{{"attn", 16 * 4 * 8 * 2}}));
}

TEST(MegatronBuffers, DispatchedRowsLiveUntilTheCombine) {
  const Plan plan = split_bf16_plan(1, 1, 2);
  for (const Runtime runtime : {Runtime::pleat, Runtime::megatron}) {
    const LayerProgram layer = megatron_layer(small_moe(), plan, LayerKind::moe, runtime);
    const auto combine = std::ranges::find(layer.forward, "combine", &Op::name);
    ASSERT_NE(combine, layer.forward.end());
    const Point at{Pass::forward, static_cast<int>(combine - layer.forward.begin())};
    for (const Lifetime& life : layer.lives) {
      const std::string& name = layer.tensor(life.tensor).name;
      if (name != "permuted" && name != "dispatch") continue;
      EXPECT_EQ(life.end == at, runtime == Runtime::megatron) << name;
    }
  }
}

TEST(MegatronBuffers, LayersAreWellFormed) {
  for (const CpComm comm : {CpComm::p2p, CpComm::all_to_all}) {
    for (const auto& recompute : {std::set<Module>{}, {Module::core_attn}, {Module::mla_up_proj},
                                  {Module::moe}, {Module::moe_act, Module::layernorm}}) {
      for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::mxfp8}) {
        Plan plan = split_bf16_plan(2, 2, 2);
        plan.cp_comm = comm;
        plan.recompute = recompute;
        plan.precision = precision;
        const Program program = compile(small_mla(), small_workload(), plan, Runtime::megatron);
        for (const LayerProgram& layer : program.stages[0].layers) {
          EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{});
        }
      }
    }
  }
}

// The head's gathered input lies in the global buffer; its weight gradient runs while the shard and
// the scattered gradient are there.
TEST(MegatronBuffers, HeadUnderSequenceParallelism) {
  const LayerProgram head =
      megatron_layer(small_moe(), split_bf16_plan(2, 1, 1), LayerKind::head, Runtime::megatron);
  const auto wgrad = std::ranges::find(head.backward, "head.wgrad", &Op::name);
  ASSERT_NE(wgrad, head.backward.end());
  const Point at{Pass::backward, static_cast<int>(wgrad - head.backward.begin())};
  std::set<std::string> live;
  for (const Lifetime& life : head.lives) {
    if ((!life.begin || *life.begin <= at) && (!life.end || at <= *life.end)) {
      live.insert(head.tensor(life.tensor).name);
    }
  }
  EXPECT_TRUE(live.contains("final_norm"));
  EXPECT_TRUE(live.contains("d.final_norm"));
  EXPECT_FALSE(live.contains("final_norm.ag.again"));
}

TEST(MegatronBuffers, OneTableForATiedHead) {
  ModelSpec model = small_moe();
  const auto elements = [&](Runtime runtime) {
    return compile(model, small_workload(), split_bf16_plan(1, 1, 1), runtime)
        .stages[0]
        .buckets[0]
        .elements;
  };
  const std::int64_t table = model.vocab * model.hidden;
  const std::int64_t untied = elements(Runtime::megatron);
  EXPECT_EQ(untied, elements(Runtime::pleat));
  model.tied_embeddings = true;
  EXPECT_EQ(elements(Runtime::megatron), untied - table);
  EXPECT_EQ(elements(Runtime::pleat), untied - table);
}

}  // namespace
}  // namespace pleat
