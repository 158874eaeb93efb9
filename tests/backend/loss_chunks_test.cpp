// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Output projection and loss in parts (Plan::loss_chunks): the same losses and gradients as at once
// but for the order of sums, in as many bytes as predicted, of which the logits have one part.
#include <gtest/gtest.h>

#include <ostream>

#include "core/plan/rank_map.hpp"
#include "core/program/evaluation.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/model_cases.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::folded_plan;
using test::fp32_plan;
using test::tp_plan;

struct LossCase {
  std::string name;
  ModelSpec model;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const LossCase& c) { return out << c.name; }
};

Plan with(Plan plan, void (*change)(Plan&)) {
  change(plan);
  return plan;
}

ModelSpec tied(ModelSpec model) {
  model.tied_embeddings = true;
  return model;
}

ModelSpec small_dense() {
  ModelSpec m = test::small_moe();
  m.moe.reset();
  m.moe_layer.assign(4, false);
  m.vocab = 66;  // two shards of 33, four of 17: two rows of padding
  return m;
}

std::vector<LossCase> loss_cases() {
  using enum PipelineSchedule;
  const ModelSpec moe = test::biased(test::small_moe()), deep = test::with_depth(moe, 2);
  const auto zero2 = [](Plan& p) { p.sharding = Sharding::zero2; };
  const auto zero3 = [](Plan& p) { p.sharding = Sharding::zero3; };
  const auto in_bf16 = [](Plan& p) {
    p.precision = Precision::bf16;
    p.optimizer.main_grads = DType::bf16;
  };
  const auto whole_tokens = [](Plan& p) { p.sequence_parallel = false; };
  return {{"OneRank", moe, fp32_plan()},
          {"Dense", small_dense(), fp32_plan()},
          {"TP2", moe, tp_plan(2, 1, 2)},
          {"TP4_padded_vocabulary", small_dense(), with(tp_plan(4), [](Plan& p) {
             p.expert = {1, 1, 4};
           })},
          {"TP2_whole_tokens", small_dense(), with(tp_plan(2), whole_tokens)},
          {"TP2_DP2_EP4", moe, tp_plan(2, 2, 4)},
          {"CP2", moe, folded_plan({.cp = 2}, 1, 2)},
          {"PP2", moe, fp32_plan(1, 1, 2)},
          {"TP2_PP2", moe, tp_plan(2, 1, 2, 2)},
          {"VPP2", moe, test::interleaved(fp32_plan(1, 1, 2))},
          {"zb_h1", moe, with(fp32_plan(1, 1, 2), [](Plan& p) { p.schedule = zb_h1; })},
          {"zb_v", moe, test::interleaved(fp32_plan(1, 1, 2), zb_v)},
          {"dualpipe_v", moe, test::interleaved(fp32_plan(1, 1, 2), dualpipe_v)},
          {"dualpipe", moe, with(fp32_plan(1, 1, 2), [](Plan& p) { p.schedule = dualpipe; })},
          {"Zero2", moe, with(fp32_plan(4, 2), zero2)},
          {"Zero3", moe, with(fp32_plan(4, 2), zero3)},
          {"TP2_Zero3", moe, with(tp_plan(2, 2, 2), zero3)},
          {"Tied", tied(moe), fp32_plan(2, 2)},
          {"Tied_TP2", tied(moe), tp_plan(2, 1, 2)},
          {"Tied_PP2", tied(moe), fp32_plan(1, 1, 2)},
          {"Tied_Zero3", tied(moe), with(fp32_plan(2, 2), zero3)},
          {"Gpt", test::small_gpt(), with(tp_plan(2), [](Plan& p) { p.expert = {1, 1, 2}; })},
          {"Depths", deep, fp32_plan()},
          {"Depths_TP2", deep, tp_plan(2, 1, 2)},
          {"Depths_CP2", deep, folded_plan({.cp = 2}, 1, 2)},
          {"Depths_PP2", deep, fp32_plan(1, 1, 2)},
          {"Depths_Tied", tied(deep), tp_plan(2, 1, 2)},
          {"Bf16", moe, with(fp32_plan(2, 2), in_bf16)},
          {"Bf16_TP2", moe, with(tp_plan(2, 1, 2), in_bf16)},
          {"Muon", moe, with(tp_plan(2, 2, 2), [](Plan& p) {
             p.optimizer.kind = OptimizerKind::muon;
           })}};
}

TrainConfig loss_config(const ModelSpec& model) {
  TrainConfig config = test::small_config(1);
  if (model.moe) test::skew(config);
  config.evaluation = {
      .data = std::make_shared<ConsecutiveBytes>(config.text, test::small_workload().seq_len),
      .batches = 2};
  return config;
}

class LossChunks : public testing::TestWithParam<LossCase> {};

TEST_P(LossChunks, GiveTheSameLossesAndGradients) {
  const LossCase& c = GetParam();
  const bool wide = c.plan.precision == Precision::fp32;
  const TrainConfig config = loss_config(c.model);
  const TrainResult once = test::run(c.model, c.plan, config);
  for (const int chunks : {2, 4, 8}) {
    Plan plan = c.plan;
    plan.loss_chunks = chunks;
    const TrainResult parts = test::run(c.model, plan, config);
    const auto expect_near = [&](double got, double want) {
      EXPECT_NEAR(got, want, (wide ? 1e-6 : 1e-3) * std::abs(want)) << chunks;
    };
    expect_near(parts.steps[0].loss, once.steps[0].loss);
    expect_near(parts.steps[0].extra.mtp, once.steps[0].extra.mtp);
    expect_near(parts.steps[0].grad_norm, once.steps[0].grad_norm);
    expect_near(*parts.steps[0].validation_loss, *once.steps[0].validation_loss);
    test::expect_close(parts.gradients, once.gradients, wide ? 1e-6 : 1e-2);
    EXPECT_NE(parts.gradients.at(c.model.tied_embeddings ? "embedding" : "head"),
              once.gradients.at(c.model.tied_embeddings ? "embedding" : "head"))
        << "nothing was added up in parts";
  }
}

TEST_P(LossChunks, HoldAsManyBytesAsPredicted) {
  const LossCase& c = GetParam();
  ModelSpec model = c.model;
  model.vocab = 1500;  // the logits are the largest tensor
  TrainConfig config = loss_config(model);
  config.forced_routing = true;
  const auto peak = [&](int chunks) {
    Plan plan = c.plan;
    plan.loss_chunks = chunks;
    const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(model, test::small_workload(), plan);
    std::int64_t most = 0;
    for (int r = 0; r < plan.world(); ++r) {
      const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
      const std::int64_t live = result.ranks[static_cast<std::size_t>(r)].peak_live_bytes;
      EXPECT_EQ(live, peak_live_bytes(program.stages[stage],
                                      [&](MicroBatch, LayerIndex) { return balanced; }))
          << chunks << " parts, rank " << r;
      most = std::max(most, live);
    }
    return most;
  };
  const std::int64_t once = peak(1), in_four = peak(4);
  EXPECT_LT(in_four, once);
}

// Codes are made of each part by itself: what they round to depends on the parts, as it does on
// layouts (quantized_test).
TEST(LossInParts, OfNarrowProjections) {
  Plan zero3 = fp32_plan(2, 2);
  zero3.sharding = Sharding::zero3;
  for (const Precision precision : {Precision::fp8, Precision::mxfp8}) {
    for (Plan plan : {fp32_plan(), tp_plan(2, 1, 2), zero3}) {
      plan.precision = precision;
      plan.fp8_head = true;
      const ModelSpec model = test::small_moe();
      const TrainConfig config = loss_config(model);
      const TrainResult once = test::run(model, plan, config);
      plan.loss_chunks = 2;
      const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
      const TrainResult parts = train(program, config);
      EXPECT_NEAR(parts.steps[0].loss, once.steps[0].loss, 2e-3 * once.steps[0].loss);
      EXPECT_NEAR(*parts.steps[0].validation_loss, *once.steps[0].validation_loss,
                  2e-3 * once.steps[0].loss);
      test::expect_close(parts.gradients, once.gradients, 0.18);
      for (const RankMeasurement& rank : parts.ranks) {
        const auto rows = [&](MicroBatch m, LayerIndex l) {
          return rank.routed.at({m.value, l.value});
        };
        EXPECT_EQ(rank.peak_live_bytes, peak_live_bytes(program.stages[0], rows));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LossChunks, testing::ValuesIn(loss_cases()),
                         [](const auto& info) { return info.param.name; });

// The largest tensor of the vocabulary's width in any pass.
TEST(LossInParts, HasTheLogitsOfOnePartAtATime) {
  for (const int chunks : {1, 2, 16}) {
    Plan plan = tp_plan(2, 1, 2);
    plan.loss_chunks = chunks;
    const ModelSpec model = test::with_depth(test::small_moe());
    const Program p = compile(model, test::small_workload(), plan, Runtime::pleat);
    const StageProgram evaluation = evaluation_of(p.stages[0]);
    for (const StageProgram* stage : {&p.stages[0], &evaluation}) {
      int losses = 0;
      for (const LayerProgram& layer : stage->layers) {
        if (layer.kind != LayerKind::head) continue;
        for (const Pass pass : {Pass::forward, Pass::backward}) {
          for (const Op& op : layer.ops(pass)) {
            if (op.kind != OpKind::ce_loss) continue;
            ++losses;
            EXPECT_EQ(layer.tensor(op.in[0]).elements({}), 2 * 16 / chunks * 32);
            EXPECT_EQ(pass == Pass::forward, chunks == 1 || stage == &evaluation);
            const auto life = std::ranges::find(layer.lives, op.in[0], &Lifetime::tensor);
            ASSERT_NE(life, layer.lives.end());
            EXPECT_TRUE(chunks == 1 || life->begin->pass == life->end->pass);
          }
        }
      }
      EXPECT_EQ(losses, chunks);
    }
  }
}

// The first part of a step's first microbatch writes the gradient of the output projection, all
// others add to it: nothing of it is cleared.
TEST(LossInParts, ClearsNoGradientOfTheProjection) {
  Plan plan = fp32_plan();
  plan.loss_chunks = 4;
  const Program p =
      compile(test::small_moe(), test::small_workload(), plan, Runtime::pleat);
  for (const LayerProgram& layer : p.stages[0].layers) {
    if (layer.kind != LayerKind::head) continue;
    int written = 0, added = 0;
    for (const Op& op : layer.backward) {
      if (op.kind != OpKind::gemm || !op.attr.transpose_a) continue;
      ++(op.attr.first_writes ? written : added);
      EXPECT_TRUE(op.attr.accumulate);
      if (op.attr.first_writes) {
        EXPECT_EQ(added, 0);
      }
    }
    EXPECT_EQ(written, 1);
    EXPECT_EQ(added, 3);
  }
}

}  // namespace
}  // namespace pleat
