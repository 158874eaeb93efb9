// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Programs of every layer kind under every mapping are well formed and have the model's parameters.
#include <gtest/gtest.h>

#include "core/program/program.hpp"
#include "core/program/step_walk.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::small_mla;
using test::small_moe;
using test::small_workload;

std::vector<Plan> plans() {
  std::vector<Plan> list{fp32_plan(), fp32_plan(4, 4), fp32_plan(4, 2, 2)};
  Plan tp = fp32_plan(2, 4);
  tp.attention.tp = 2;
  tp.expert.edp = 1;
  list.push_back(tp);
  Plan etp = tp;
  etp.expert = {2, 2, 1};
  list.push_back(etp);
  Plan cp = fp32_plan(2, 4);
  cp.attention.cp = 2;
  cp.expert.edp = 1;
  list.push_back(cp);
  Plan narrow = fp32_plan(4, 4);
  narrow.precision = Precision::mxfp8;
  narrow.recompute = {Module::moe_act, Module::layernorm};
  list.push_back(narrow);
  Plan full = fp32_plan(2, 2);
  full.recompute_full = true;
  list.push_back(full);
  return list;
}

TEST(Compile, EveryLayerIsWellFormed) {
  for (ModelSpec model : {small_moe(), small_mla()}) {
    model.attention.qk_norm = model.attention.kind == AttentionKind::gqa;
    model.moe->shared_gate = model.attention.qk_norm;
    for (const Plan& plan : plans()) {
      const Program program = compile(model, small_workload(), plan, Runtime::pleat);
      for (const StageProgram& stage : program.stages) {
        for (const LayerProgram& layer : stage.layers) {
          EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{}) << summary(plan);
        }
      }
    }
  }
}

TEST(Compile, ParametersAreThoseOfTheModel) {
  for (const ModelSpec& model : {small_moe(), small_mla()}) {
    const Program program = compile(model, small_workload(), fp32_plan(), Runtime::pleat);
    std::int64_t elements = 0;
    for (const BucketState& b : program.stages[0].buckets) elements += b.elements;
    EXPECT_EQ(elements, count_parameters(model).total) << model.name;
  }
}

TEST(Compile, ShardsOfAllRanksHoldTheModel) {
  const ModelSpec model = small_moe();
  const Plan plan = fp32_plan(4, 2, 2);
  const Program program = compile(model, small_workload(), plan, Runtime::pleat);
  std::int64_t dense = 0, expert = 0;
  for (const StageProgram& stage : program.stages) {
    dense += stage.buckets[0].elements;
    expert += stage.buckets[1].elements * plan.expert.ep;
    EXPECT_EQ(stage.buckets[0].shards, 4);
    EXPECT_EQ(stage.buckets[1].shards, 2);
    EXPECT_GE(stage.buckets[0].shards * stage.buckets[0].shard_elements, stage.buckets[0].elements);
  }
  EXPECT_EQ(dense + expert, count_parameters(model).total);
}

struct Balance : StepVisitor {
  std::set<InstanceKey> live;
  int ops = 0;
  void on_birth(const OpSite& site, const InstanceKey& key, const Tensor& t) override {
    EXPECT_TRUE(live.insert(key).second) << t.name << " born twice at " << site.op->name;
  }
  void on_op(const OpSite& site) override {
    ++ops;
    for (TensorId t : site.op->in) {
      if (site.program->tensor(t).cls != TensorClass::activation) continue;
      EXPECT_TRUE(live.contains(resolve(*stage, site, t)))
          << site.op->name << " reads dead " << site.program->tensor(t).name;
    }
  }
  void on_death(const OpSite& site, const InstanceKey& key, const Tensor& t) override {
    EXPECT_EQ(live.erase(key), 1u) << t.name << " dies twice at " << site.op->name;
  }
  const StageProgram* stage = nullptr;
};

TEST(StepWalk, EveryTensorBornDiesOnce) {
  for (const Plan& plan : plans()) {
    const Program program = compile(small_mla(), small_workload(), plan, Runtime::pleat);
    for (const StageProgram& stage : program.stages) {
      Balance balance;
      balance.stage = &stage;
      walk_step(stage, balance);
      EXPECT_TRUE(balance.live.empty()) << balance.live.size() << " left over, " << summary(plan);
      EXPECT_GT(balance.ops, 0);
    }
  }
}

TEST(Compile, PipelineStagesSendAndReceive) {
  const Program program =
      compile(small_moe(), small_workload(), fp32_plan(1, 1, 2), Runtime::pleat);
  const auto& first = program.stages[0].chunks[0].instances;
  const auto& last = program.stages[1].chunks[0].instances;
  EXPECT_EQ(program.stages[0].program(first.front()).kind, LayerKind::embedding);
  EXPECT_EQ(program.stages[0].program(first.back()).kind, LayerKind::send);
  EXPECT_EQ(program.stages[1].program(last.front()).kind, LayerKind::recv);
  EXPECT_EQ(program.stages[1].program(last.back()).kind, LayerKind::head);
}

// Elements that a stage sums with its twin's embedding table; 0: no such sum.
std::int64_t table_sum(const StageProgram& stage) {
  std::int64_t elements = 0;
  for (const Op& op : stage.epilogue) {
    if (op.group != Group::embedding) continue;
    EXPECT_EQ(op.kind, OpKind::all_reduce_replicated);
    EXPECT_EQ(elements, 0) << "twice";
    elements = op.attr.n.n;
  }
  return elements;
}

TEST(Compile, StagesThatShareATableSumItsGradients) {
  ModelSpec model = small_moe();
  const auto sums = [&](const Plan& plan, Runtime runtime) {
    std::vector<std::int64_t> found;
    for (const StageProgram& s : compile(model, small_workload(), plan, runtime).stages) {
      found.push_back(table_sum(s));
    }
    return found;
  };
  using Sums = std::vector<std::int64_t>;
  Plan plan = fp32_plan(2, 1, 4);
  plan.expert.edp = 2;
  EXPECT_EQ(sums(plan, Runtime::megatron), (Sums{0, 0, 0, 0}));  // two tables of their own
  model.tied_embeddings = true;
  EXPECT_EQ(sums(plan, Runtime::megatron), (Sums{64 * 32, 0, 0, 64 * 32}));
  EXPECT_EQ(sums(plan, Runtime::pleat), (Sums{64 * 32, 0, 0, 64 * 32}));
  EXPECT_EQ(sums(fp32_plan(2), Runtime::megatron), Sums{0});  // one stage: one table
  plan.attention.tp = 2;
  plan.expert.edp = 4;
  EXPECT_EQ(sums(plan, Runtime::megatron), (Sums{32 * 32, 0, 0, 32 * 32}));
  model.tied_embeddings = false;
  model.mtp_layers = 1;  // the last stage embeds tokens for it
  EXPECT_EQ(sums(plan, Runtime::megatron), (Sums{32 * 32, 0, 0, 32 * 32}));
  plan.layout = "Et|t|ttm|L";  // a stage between the ends does
  EXPECT_EQ(sums(plan, Runtime::pleat), (Sums{32 * 32, 0, 32 * 32, 0}));
  model.tied_embeddings = true;
  EXPECT_EQ(sums(plan, Runtime::pleat), (Sums{32 * 32, 0, 32 * 32, 32 * 32}));
  plan.sharding = Sharding::zero3;
  EXPECT_EQ(sums(plan, Runtime::megatron), (Sums{0, 0, 0, 0}));
}

std::vector<Stage> table_stages(const ModelSpec& model, const Plan& plan, int stage) {
  const Program program = compile(model, small_workload(), plan, Runtime::pleat);
  const auto& table = program.stages[static_cast<std::size_t>(stage)].table;
  return table ? table->stages : std::vector<Stage>{};
}

TEST(Compile, StagesKnowWhichOthersHoldTheTable) {
  using Stages = std::vector<Stage>;
  ModelSpec model = small_moe();
  model.mtp_layers = 1;
  model.tied_embeddings = true;
  Plan plan = fp32_plan(1, 1, 4);
  plan.layout = "Et|t|ttm|L";
  for (const int stage : {0, 2, 3}) {
    EXPECT_EQ(table_stages(model, plan, stage), (Stages{Stage{0}, Stage{2}, Stage{3}}));
  }
  EXPECT_EQ(table_stages(model, plan, 1), Stages{});
  // DualPipe's stages 0 and 3 embed the input and have the head, 1 and 2 the prediction block.
  plan.schedule = PipelineSchedule::dualpipe;
  EXPECT_EQ(table_stages(model, plan, 0), (Stages{Stage{0}, Stage{1}}));
  EXPECT_EQ(table_stages(model, plan, 3), (Stages{Stage{2}, Stage{3}}));
}

}  // namespace
}  // namespace pleat
