// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Each pass changes exactly what it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/program/op_graph.hpp"
#include "core/program/passes/pair.hpp"
#include "core/program/program.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::small_moe;
using test::small_workload;

LayerProgram moe_layer(const ModelSpec& model, const Plan& plan) {
  const Program program = compile(model, small_workload(), plan, Runtime::pleat);
  for (const LayerProgram& layer : program.stages[0].layers) {
    if (layer.kind == LayerKind::moe) return layer;
  }
  ADD_FAILURE() << "no MoE layer";
  return {};
}

std::set<std::string> saved_names(const LayerProgram& layer) {
  std::set<std::string> names;
  for (TensorId id : saved_tensors(layer)) names.insert(layer.tensor(id).name);
  return names;
}

std::vector<std::string> lost(const std::set<std::string>& before,
                              const std::set<std::string>& after) {
  std::vector<std::string> out;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(out));
  return out;
}

TEST(Recompute, MoeActDropsOnlyTheExpertActivation) {
  Plan plan = fp32_plan(2, 2);
  const LayerProgram without = moe_layer(small_moe(), plan);
  plan.recompute = {Module::moe_act};
  const LayerProgram with = moe_layer(small_moe(), plan);
  EXPECT_EQ(lost(saved_names(without), saved_names(with)), std::vector<std::string>{"experts.act"});
  EXPECT_EQ(lost(saved_names(with), saved_names(without)), std::vector<std::string>{});
  EXPECT_EQ(with.forward.size(), without.forward.size());
  EXPECT_EQ(with.backward.size(), without.backward.size() + 1);
  const auto again = std::find_if(with.backward.begin(), with.backward.end(),
                                  [](const Op& op) { return op.phase == Phase::recompute; });
  ASSERT_NE(again, with.backward.end());
  EXPECT_EQ(again->kind, OpKind::swiglu_prob);
  EXPECT_EQ((again + 1)->name, "experts.fc2.wgrad");  // just before its first reader
}

TEST(Recompute, LayernormDropsBothNormOutputs) {
  Plan plan = fp32_plan();
  const LayerProgram without = moe_layer(small_moe(), plan);
  plan.recompute = {Module::layernorm};
  const LayerProgram with = moe_layer(small_moe(), plan);
  EXPECT_EQ(lost(saved_names(without), saved_names(with)),
            (std::vector<std::string>{"attn_norm", "attn_norm.rstd", "mlp_norm", "mlp_norm.rstd"}));
}

TEST(Recompute, FullKeepsTheInputAndTheRoutingOnly) {
  Plan plan = fp32_plan(2, 2);
  plan.recompute_full = true;
  EXPECT_EQ(
      saved_names(moe_layer(small_moe(), plan)),
      (std::set<std::string>{"x", "probs", "experts", "counts", "all_counts", "group_counts"}));
}

TEST(Precision, Mxfp8SavesNarrowCopies) {
  Plan plan = fp32_plan();
  plan.precision = Precision::mxfp8;
  const LayerProgram layer = moe_layer(small_moe(), plan);
  std::int64_t narrow = 0;
  for (TensorId id : saved_tensors(layer)) {
    const Tensor& t = layer.tensor(id);
    if (t.dtype != DType::mxfp8) continue;
    ++narrow;
    EXPECT_TRUE(t.name.ends_with(".col"))
        << t.name << " is saved, but only wgrad needs a saved copy";
    EXPECT_EQ(t.bytes({}), t.elements({}) + (t.elements({}) + 31) / 32);
  }
  // qkv input, permuted rows, expert activation, the shared expert's second input; the attention
  // output and its first one are saved in bf16.
  EXPECT_EQ(narrow, 4);
  for (const Op& op : layer.forward) {
    if (op.name == "router") {
      EXPECT_EQ(op.attr.math, DType::bf16);
    } else if (op.name == "qkv") {
      EXPECT_EQ(op.attr.math, DType::mxfp8);
    }
  }
}

// What the projection and the shared expert read is saved in bf16 for others: no narrow copy beside
// it.
TEST(Precision, InputsSavedInBf16AreConvertedOnceMore) {
  Plan plan = fp32_plan(2, 2);
  const auto copies = [&plan](Precision precision) {
    plan.precision = precision;
    const Program program = compile(small_moe(), small_workload(), plan, Runtime::megatron);
    std::set<std::string> narrow;
    for (const LayerProgram& layer : program.stages[0].layers) {
      if (layer.kind != LayerKind::moe) continue;
      for (TensorId id : saved_tensors(layer)) {
        if (layer.tensor(id).name.ends_with(".col")) narrow.insert(layer.tensor(id).name);
      }
    }
    return narrow;
  };
  EXPECT_EQ(copies(Precision::mxfp8), (std::set<std::string>{"attn_norm.col", "experts.act.col",
                                                             "shared.act.col", "sorted.col"}));
  EXPECT_EQ(copies(Precision::fp8_delayed),
            (std::set<std::string>{"attn.col", "attn_norm.col", "experts.act.col", "mlp_norm.col",
                                   "shared.act.col", "sorted.col"}));
}

TEST(Sharding, Zero1IsReduceScatterShardAndGather) {
  Plan plan = fp32_plan(4, 2);
  const auto zero1 = compile(small_moe(), small_workload(), plan, Runtime::pleat).stages[0];
  plan.sharding = Sharding::none;
  const auto none = compile(small_moe(), small_workload(), plan, Runtime::pleat).stages[0];
  auto count = [](const StageProgram& s, OpKind kind) {
    return std::count_if(s.epilogue.begin(), s.epilogue.end(),
                         [&](const Op& op) { return family_of(op.kind) == kind; });
  };
  EXPECT_EQ(count(zero1, OpKind::reduce_scatter), 2);
  EXPECT_EQ(count(zero1, OpKind::all_gather), 2);
  EXPECT_EQ(count(none, OpKind::reduce_scatter), 0);
  EXPECT_EQ(count(none, OpKind::all_reduce), 3);  // two buckets and the norm
  const auto elements = [](const StageProgram& s, TensorId t) {
    return s.state[t.index()].elements({});
  };
  const BucketState& sharded = zero1.buckets[0];
  EXPECT_EQ(elements(zero1, sharded.exp_avg), (sharded.elements + 3) / 4);
  EXPECT_EQ(elements(none, none.buckets[0].exp_avg), none.buckets[0].elements);
}

TEST(Pair, RunsEveryOperationOnceInOrderAndExchangesOnTheCommStream) {
  const LayerProgram layer = moe_layer(small_moe(), fp32_plan(2, 2));
  const std::vector<PairStep> steps = pair_layers(layer, layer, false);
  ASSERT_EQ(steps.size(), layer.forward.size() + layer.backward.size());
  int next[2] = {0, 0};
  int comm = 0;
  for (const PairStep& s : steps) {
    EXPECT_EQ(s.op, next[static_cast<int>(s.pass)]++);
    const Op& op = layer.ops(s.pass)[static_cast<std::size_t>(s.op)];
    const bool exchange = op.kind == OpKind::exchange_rows || op.kind == OpKind::exchange_rows_back;
    EXPECT_EQ(s.stream == Stream::comm, exchange) << op.name;
    comm += exchange;
  }
  EXPECT_EQ(comm, 6);  // tokens and probabilities out, tokens back, and the gradients of each
}

TEST(Program, PrintsOperationsShapesAndLifetimes) {
  const std::string text =
      print_layer(moe_layer(small_moe(), fp32_plan(2, 2)), Binding{.routed = 7});
  EXPECT_NE(text.find("dispatch = all_to_all(permuted, all_counts)  over ep"), std::string::npos)
      << text;
  EXPECT_NE(text.find("fp32 [R=7,32]"), std::string::npos) << text;
  EXPECT_NE(text.find("host_sync"), std::string::npos);
  EXPECT_NE(text.find("saved to experts.fc2.wgrad"), std::string::npos) << text;
}

}  // namespace
}  // namespace pleat
