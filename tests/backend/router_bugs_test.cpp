// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bugs that training systems had in routers, their losses and biases, shared tables and multi-token
// prediction, a test each. In brackets: the rows of docs/KNOWN_BUGS.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "tests/backend/model_cases.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

Plan of_samples(Plan plan, int micro_batch) {
  plan.micro_batch = micro_batch;
  return plan;
}

TrainConfig config_of(int steps) {
  TrainConfig config = test::small_config(steps);
  test::skew(config);
  return config;
}

ModelSpec losses_only(double aux, double seq_aux, double z) {
  ModelSpec m = test::small_moe();
  m.moe->aux_loss = aux;
  m.moe->seq_aux_loss = seq_aux;
  m.moe->z_loss = z;
  return m;
}

// [6] Balance within a sequence and the size of logits know nothing of microbatches.
TEST(RouterBugs, SequenceAuxLossDependsOnTheMicrobatch) {
  const ModelSpec m = losses_only(0, 0.5, 0.1);
  const TrainConfig config = config_of(1);
  const TrainResult one = test::run(m, fp32_plan(), config);
  for (const Plan& plan : {of_samples(fp32_plan(), 4), of_samples(fp32_plan(2, 2), 2)}) {
    const TrainResult other = test::run(m, plan, config);
    EXPECT_NEAR(other.steps[0].extra.seq_aux, one.steps[0].extra.seq_aux, 1e-6);
    EXPECT_NEAR(other.steps[0].extra.z, one.steps[0].extra.z, 1e-6);
    test::expect_close(other.gradients, one.gradients, 1e-5);
  }
  EXPECT_GT(one.steps[0].extra.seq_aux, 0.5);  // three layers, each above its least, 0.5
}

// [4, 5] The router's gradient is nearly all the losses' here: a factor too many would show.
TEST(RouterBugs, AuxLossIsScaledByTheSizeOfAGroup) {
  const ModelSpec m = losses_only(1, 1, 1);
  const TrainConfig config = config_of(1);
  const TrainResult one = test::run(m, fp32_plan(), config);
  for (const Plan& plan : {fp32_plan(2), fp32_plan(4, 4), fp32_plan(4, 2), fp32_plan(2, 2, 2),
                           test::tp_plan(2), test::tp_plan(4, 1, 4), test::tp_plan(2, 2, 4)}) {
    SCOPED_TRACE(summary(plan));
    const TrainResult many = test::run(m, plan, config);
    EXPECT_NEAR(many.steps[0].extra.aux, one.steps[0].extra.aux, 1e-5);
    EXPECT_NEAR(many.steps[0].extra.seq_aux, one.steps[0].extra.seq_aux, 1e-5);
    EXPECT_NEAR(many.steps[0].extra.z, one.steps[0].extra.z, 1e-5);
    test::expect_close(many.gradients, one.gradients, 1e-5);
  }
}

// [4] The same over ranks that share sequences.
TEST(RouterBugs, AuxLossIsScaledByContextParallelism) {
  const ModelSpec m = losses_only(1, 1, 1);
  const TrainConfig config = config_of(1);
  const TrainResult one = test::run(m, fp32_plan(), config);
  for (const CpComm kind : {CpComm::p2p, CpComm::all_gather, CpComm::all_to_all}) {
    for (Plan plan : {test::folded_plan({.cp = 2}, 1, 1), test::folded_plan({.cp = 4}, 1, 2),
                      test::folded_plan({.tp = 2, .cp = 2, .dp = 2}, 1, 8)}) {
      plan.cp_comm = kind;
      SCOPED_TRACE(summary(plan));
      const TrainResult many = test::run(m, plan, config);
      EXPECT_NEAR(many.steps[0].extra.aux, one.steps[0].extra.aux, 1e-5);
      EXPECT_NEAR(many.steps[0].extra.seq_aux, one.steps[0].extra.seq_aux, 1e-5);
      EXPECT_NEAR(many.steps[0].extra.z, one.steps[0].extra.z, 1e-5);
      test::expect_close(many.gradients, one.gradients, 1e-5);
    }
  }
}

// [7] A layer that is computed twice has one loss.
TEST(RouterBugs, AuxLossIsLoggedTwiceUnderRecompute) {
  const ModelSpec m = test::with_losses(test::small_moe());
  const TrainConfig config = config_of(1);
  Plan plan = fp32_plan(2, 2);
  const TrainResult kept = test::run(m, plan, config);
  plan.recompute = {Module::moe};
  const TrainResult module = test::run(m, plan, config);
  plan.recompute = {};
  plan.recompute_full = true;
  const TrainResult full = test::run(m, plan, config);
  for (const TrainResult* again : {&module, &full}) {
    EXPECT_EQ(again->steps[0].extra.aux, kept.steps[0].extra.aux);
    EXPECT_EQ(again->steps[0].extra.seq_aux, kept.steps[0].extra.seq_aux);
    EXPECT_EQ(again->steps[0].extra.z, kept.steps[0].extra.z);
    test::expect_same_bits(again->gradients, kept.gradients);
  }
  EXPECT_GT(kept.steps[0].extra.aux, 0);
}

// [8] Scores, biases and loads are fp32 whatever the model computes in.
TEST(RouterBugs, BiasIsCastToTheTypeOfTheModel) {
  Plan plan = fp32_plan();
  plan.precision = Precision::bf16;
  const ModelSpec m = test::with_bias_update(test::small_moe());
  const Program program = compile(m, test::small_workload(), plan, Runtime::pleat);
  const StageProgram& stage = program.stages[0];
  ASSERT_GT(stage.buckets[0].buffer_elements, 0);
  EXPECT_EQ(stage.state[stage.buckets[0].buffers.index()].dtype, DType::fp32);
  EXPECT_EQ(stage.state[stage.buckets[0].weights.index()].dtype, DType::bf16);
  int routers = 0;
  for (const LayerProgram& layer : stage.layers) {
    for (const Op& op : layer.forward) {
      if (op.kind != OpKind::router_topk) continue;
      ++routers;
      for (TensorId id : op.in) EXPECT_EQ(layer.tensor(id).dtype, DType::fp32);
      EXPECT_EQ(layer.tensor(op.out[0]).dtype, DType::fp32);
    }
  }
  EXPECT_GT(routers, 0);
}

// The picks of a model with one MoE layer: of every rank, microbatch after microbatch.
struct Picks {
  std::mutex mutex;
  std::map<int, std::vector<std::vector<std::int32_t>>> of_rank;
  void watch(TrainConfig& config) {
    config.after_op = [this](Rank rank, const Op& op, std::span<const View> out) {
      if (op.kind != OpKind::router_topk || op.phase != Phase::forward) return;
      const std::scoped_lock lock(mutex);
      of_rank[rank.value].emplace_back(out[1].i32(), out[1].i32() + out[1].elements());
    };
  }
};

// [10] After three steps the bias is what all tokens of each step say: of all ranks, once.
TEST(RouterBugs, BiasCountsSomeRanksOrCountsTwice) {
  ModelSpec m = test::with_bias_update(test::small_moe());
  m.moe_layer = {false, true, false, false};
  std::vector<Plan> plans{fp32_plan(),        fp32_plan(2),           fp32_plan(4, 2),
                          fp32_plan(2, 2, 2), test::tp_plan(2, 1, 2), test::tp_plan(2, 2, 4)};
  for (bool full : {false, true}) {
    Plan p = fp32_plan(2, 2);
    if (!full) p.recompute = {Module::moe};
    p.recompute_full = full;
    plans.push_back(p);
  }
  constexpr int kSteps = 3;
  for (const Plan& plan : plans) {
    SCOPED_TRACE(summary(plan));
    TrainConfig config = config_of(kSteps);
    config.adamw.lr = 1e-2;
    Picks picks;
    picks.watch(config);
    const TrainResult result = test::run(m, plan, config);
    std::vector<float> bias(8, 0.0F);
    bias[test::kFavoured] = 0.2F;
    bias[test::kEmpty] = -100;
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::vector<int> counts(8, 0);
      int all = 0;
      for (const auto& [rank, lists] : picks.of_rank) {
        const std::size_t each = lists.size() / kSteps;
        for (std::size_t i = step * each; i < (step + 1) * each; ++i) {
          for (std::int32_t e : lists[i]) ++counts[static_cast<std::size_t>(e)], ++all;
        }
      }
      EXPECT_EQ(all, 8 * 16 * 2);
      for (std::size_t e = 0; e < 8; ++e) {
        const int under = all - 8 * counts[e];
        bias[e] += under > 0 ? 0.05F : under < 0 ? -0.05F : 0.0F;
      }
    }
    EXPECT_EQ(result.weights.at("layers.1.expert_bias"), bias);
  }
}

// [22] Stages without an expert, and the stage with the prediction depth, log like the others.
TEST(RouterBugs, AStageWithoutExpertsWaitsForEver) {
  const ModelSpec m =
      test::with_depth(test::with_losses(test::with_bias_update(test::small_moe())));
  const TrainConfig config = config_of(2);
  const TrainResult one = test::run(m, fp32_plan(), config);
  const TrainResult piped = test::run(m, fp32_plan(1, 1, 4), config);  // layer 0 is dense
  EXPECT_NEAR(piped.steps[1].extra.aux, one.steps[1].extra.aux, 1e-5);
  EXPECT_NEAR(piped.steps[1].extra.mtp, one.steps[1].extra.mtp, 1e-5);
}

// [13] Two stages hold a tied table; its gradient is summed and counts once for the norm.
TEST(RouterBugs, TiedTableCountsTwiceInTheNorm) {
  ModelSpec m = test::small_gpt();
  TrainConfig config = config_of(3);
  config.clip_norm = 0.1;  // every step is clipped by it
  const TrainResult one = test::run(m, fp32_plan(), config);
  for (const Plan& plan : {fp32_plan(1, 1, 2), fp32_plan(2, 1, 4)}) {
    const TrainResult piped = test::run(m, plan, config);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_NEAR(piped.steps[s].grad_norm, one.steps[s].grad_norm, 1e-5 * one.steps[s].grad_norm);
      EXPECT_NEAR(piped.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
    }
    test::expect_close(piped.gradients, one.gradients, 2e-5);
  }
  EXPECT_GT(one.steps[0].grad_norm, 0.1);
}

// [28] The loss of a prediction depth is a mean: equal samples give the same loss however many
// there are, and however they are split.
TEST(RouterBugs, PredictionLossGrowsWithTheBatch) {
  const ModelSpec m = test::with_depth(test::small_mla());
  TrainConfig config = config_of(1);
  for (std::size_t i = 0; i < config.text.size(); ++i) {
    config.text[i] = static_cast<std::uint8_t>(i % 16 * 3);  // every sample is the same
  }
  const auto mtp = [&](std::int64_t batch, const Plan& plan) {
    const Program program =
        compile(m, {.seq_len = 16, .global_batch = batch}, plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    return result.steps[0].extra.mtp;
  };
  const double one = mtp(1, fp32_plan());
  EXPECT_NEAR(one, 0.3 * std::log(64.0), 0.02);
  EXPECT_NEAR(mtp(8, fp32_plan()), one, 1e-6);
  EXPECT_NEAR(mtp(8, of_samples(fp32_plan(2, 2), 2)), one, 1e-6);
  EXPECT_NEAR(mtp(4, fp32_plan(1, 1, 2)), one, 1e-6);
}

// [9] Tokens whose loss is masked are tokens: the mask is of the loss alone, row by row, on the
// rank that has the row. Routing, loads and router losses are those of the same text without a
// mask.
TEST(RouterBugs, AMaskIsBroadcastOverTheRouter) {
  const ModelSpec m = test::with_bias_update(test::with_losses(test::small_moe()));
  TrainConfig config = test::small_config(1);
  config.measure_load = true;
  const TrainResult plain = test::run(m, fp32_plan(), config);
  config.packing.end_of_document = config.text[3];
  config.packing.mask_loss = true;
  const TrainResult one = test::run(m, fp32_plan(), config);
  EXPECT_EQ(one.steps[0].expert_load, plain.steps[0].expert_load);
  EXPECT_EQ(one.steps[0].extra.aux, plain.steps[0].extra.aux);
  EXPECT_EQ(one.steps[0].extra.seq_aux, plain.steps[0].extra.seq_aux);
  EXPECT_EQ(one.steps[0].extra.z, plain.steps[0].extra.z);
  EXPECT_NE(one.steps[0].loss, plain.steps[0].loss);
  Plan context = test::tp_plan(2);
  context.attention.cp = 2;
  context.expert.edp = 4;
  context.sharding = Sharding::zero1;
  for (const Plan& plan : {fp32_plan(2, 2), test::tp_plan(2, 2, 4), context}) {
    SCOPED_TRACE(summary(plan));
    const TrainResult many = test::run(m, plan, config);
    EXPECT_EQ(many.steps[0].expert_load, one.steps[0].expert_load);
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-5 * one.steps[0].loss);
    EXPECT_NEAR(many.steps[0].extra.aux, one.steps[0].extra.aux, 1e-5 * one.steps[0].extra.aux);
    test::expect_close(many.gradients, one.gradients, 1e-5);
  }
}

// [20] Passes that are run once more, as warm-up runs of a graph are, leave biases and loads alone:
// those of an evaluation, and of a step that is repeated and skipped.
TEST(RouterBugs, RepeatedPassesChangeTheBias) {
  const ModelSpec m = test::with_bias_update(test::small_moe());
  const Plan plan = fp32_plan(2, 2);
  TrainConfig config = test::small_config(3);
  const TrainResult three = test::run(m, plan, config);
  config.steps = 4;
  config.evaluation = {.data = std::make_shared<ConsecutiveBytes>(config.text, 16),
                       .every = 1,
                       .batches = 2};
  config.change_gradients = [](Rank, int step, Bucket, std::span<float> gradients) {
    if (step == 3) gradients[0] = std::numeric_limits<float>::quiet_NaN();
  };
  const TrainResult more = test::run(m, plan, config);
  EXPECT_TRUE(more.steps[3].skipped);
  for (const auto& [name, values] : three.weights) {
    if (!name.ends_with("expert_bias")) continue;
    EXPECT_EQ(more.weights.at(name), values) << name;
    EXPECT_GT(std::count_if(values.begin(), values.end(), [](float v) { return v != 0; }), 0);
  }
}

}  // namespace
}  // namespace pleat
