// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pipelines of every order and layout compute what one stage computes: to the bit where
// microbatches are added in the same order, which is everywhere but in DualPipe.
#include <gtest/gtest.h>

#include <ostream>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

struct Pipeline {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const Pipeline& p) { return out << p.name; }
};

Plan in_order(PipelineSchedule schedule, int pp, int vpp, const char* layout = "") {
  Plan p = fp32_plan(1, 1, pp);
  p.schedule = schedule;
  p.vpp = vpp;
  p.layout = layout;
  return p;
}

Plan grouped(Plan plan, int microbatches) {
  plan.microbatch_group = microbatches;
  return plan;
}

constexpr auto k1F1B = PipelineSchedule::one_f_one_b;

// Eight microbatches of one sample each over four layers.
std::vector<Pipeline> same_bits() {
  return {{"interleaved", in_order(k1F1B, 2, 2)},
          {"interleaved_in_groups", grouped(in_order(k1F1B, 2, 2), 4)},
          {"interleaved_in_unequal_groups", grouped(in_order(k1F1B, 2, 2), 3)},
          {"interleaved_three_stages", in_order(k1F1B, 3, 2, "E|t|tt||t|L")},
          {"uneven", in_order(k1F1B, 2, 1, "Et|tttL")},
          {"embedding_and_loss_alone", in_order(k1F1B, 3, 1, "E|tttt|L")},
          {"embedding_and_loss_count_as_layers", in_order(k1F1B, 3, 1)},
          {"interleaved_uneven", in_order(k1F1B, 2, 2, "Ett||t|tL")},
          {"zb_h1", in_order(PipelineSchedule::zb_h1, 2, 1)},
          {"zb_h1_four_stages", in_order(PipelineSchedule::zb_h1, 4, 1)},
          {"zb_v", in_order(PipelineSchedule::zb_v, 2, 2)},
          {"zb_v_uneven", in_order(PipelineSchedule::zb_v, 3, 2, "E|t|t|t||tL")},
          {"dualpipe_v", in_order(PipelineSchedule::dualpipe_v, 2, 2)}};
}

void expect_peaks(const ModelSpec& model, const Plan& plan) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  const std::int64_t balanced = balanced_routed_tokens(model, test::small_workload(), plan);
  for (int r = 0; r < plan.world(); ++r) {
    const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
    EXPECT_EQ(
        result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
        peak_live_bytes(program.stages[stage], [&](MicroBatch, LayerIndex) { return balanced; }))
        << "rank " << r;
  }
}

class Pipelines : public testing::TestWithParam<Pipeline> {};

TEST_P(Pipelines, AreTheSameBitsAsOneStage) {
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0;  // the norm is added up over stages, in another order
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    const TrainResult one = test::run(model, fp32_plan(), config);
    const TrainResult many = test::run(model, GetParam().plan, config);
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(many.steps[s].loss, one.steps[s].loss);
      EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm, 1e-6 * one.steps[s].grad_norm);
    }
    test::expect_same_bits(many.gradients, one.gradients);
    test::expect_same_bits(many.weights, one.weights);
  }
}

TEST_P(Pipelines, MemoryIsPredictedToTheByte) { expect_peaks(test::small_moe(), GetParam().plan); }

INSTANTIATE_TEST_SUITE_P(Orders, Pipelines, testing::ValuesIn(same_bits()),
                         [](const auto& info) { return std::string(info.param.name); });

Plan with_ranks(Plan plan, int dp, int ep, Sharding sharding) {
  plan.attention.dp = dp;
  plan.expert.ep = ep;
  plan.expert.edp = dp / ep;
  plan.sharding = sharding;
  return plan;
}

WorkloadSpec large_batch() { return {.seq_len = 16, .global_batch = 16}; }

// Two copies of every layer add half of the microbatches each.
TEST(DualPipe, AddsUpItsCopies) {
  TrainConfig config = test::small_config(2);
  test::skew(config);
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = train(compile(model, large_batch(), fp32_plan(), Runtime::pleat), config);
  const Plan base = in_order(PipelineSchedule::dualpipe, 2, 1);
  const Plan plans[] = {
      base, with_ranks(base, 2, 2, Sharding::none), with_ranks(base, 2, 1, Sharding::zero1),
      with_ranks(in_order(PipelineSchedule::dualpipe, 4, 1), 2, 2, Sharding::zero1)};
  for (const Plan& plan : plans) {
    SCOPED_TRACE(summary(plan));
    const TrainResult many = train(compile(model, large_batch(), plan, Runtime::pleat), config);
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
      EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm, 1e-5 * one.steps[s].grad_norm);
    }
    test::expect_close(many.gradients, one.gradients, 1e-5);
    test::expect_close(many.weights, one.weights, 1e-5);
  }
}

TEST(DualPipe, MemoryIsPredictedToTheByte) {
  expect_peaks(test::small_moe(), in_order(PipelineSchedule::dualpipe, 2, 1));
  expect_peaks(test::small_moe(),
               with_ranks(in_order(PipelineSchedule::dualpipe, 2, 1), 2, 2, Sharding::zero1));
}

// A stage without experts takes part in the norm and in clipping (ColossalAI issue 2192,
// Megatron-LM commit e675940967).
TEST(Pipeline, ClipsAlikeWhereAStageHasNoExperts) {
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0.01;
  const Plan plan = in_order(k1F1B, 3, 1, "Et|ttt|L");  // only the second stage has experts
  const TrainResult one = test::run(test::small_moe(), fp32_plan(), config);
  const TrainResult many = test::run(test::small_moe(), plan, config);
  EXPECT_GT(one.steps[0].grad_norm, 0.1);
  EXPECT_NEAR(many.steps[1].grad_norm, one.steps[1].grad_norm, 1e-5 * one.steps[1].grad_norm);
  test::expect_close(many.weights, one.weights, 1e-5);
}

}  // namespace
}  // namespace pleat
