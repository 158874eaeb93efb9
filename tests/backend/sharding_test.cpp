// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where gradients, weights and optimizer state lie changes nothing: every kind of sharding computes
// what one rank computes, and holds as many bytes as predicted.
#include <gtest/gtest.h>

#include <ostream>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::recomputing_all;

using test::fp32_plan;

struct ShardingCase {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const ShardingCase& c) {
    return out << c.name;
  }
};

Plan instances(Plan plan, int count) {
  plan.optimizer_instances = count;
  return plan;
}

Plan zero(Sharding sharding, Plan plan, int fsdp_group = 0) {
  plan.sharding = sharding;
  plan.fsdp_group = fsdp_group;
  return plan;
}

Plan two_contexts(Plan plan) {
  plan.attention.cp = 2;
  plan.expert.edp *= 2;
  return plan;
}

Plan tensor(Plan plan) {
  plan.attention.tp = 2;
  plan.expert.edp *= 2;
  return plan;
}

std::vector<ShardingCase> sharding_cases() {
  using enum Sharding;
  return {{"zero1_two_instances", instances(fp32_plan(4), 2)},
          {"zero1_two_instances_of_experts", instances(fp32_plan(4, 2), 2)},
          {"zero2_dp4", zero(zero2, fp32_plan(4))},
          {"zero2_expert_parallel", zero(zero2, fp32_plan(4, 2))},
          {"zero2_experts_whole", zero(zero2, fp32_plan(2, 2))},
          {"zero2_shard_groups", zero(zero2, fp32_plan(4, 2), 2)},
          {"zero3_dp4", zero(zero3, fp32_plan(4))},
          {"zero3_expert_parallel", zero(zero3, fp32_plan(4, 2))},
          {"zero3_experts_whole", zero(zero3, fp32_plan(2, 2))},
          {"zero3_shard_groups", zero(zero3, fp32_plan(4, 2), 2)},
          {"zero3_recomputed", recomputing_all(zero(zero3, fp32_plan(3)))},
          {"zero3_context", zero(zero3, two_contexts(fp32_plan(2, 2)))},
          {"zero2_tensor", zero(zero2, tensor(fp32_plan(2, 2)))},
          {"zero3_tensor", zero(zero3, tensor(fp32_plan(2, 2)))}};
}

WorkloadSpec batch() { return {.seq_len = 16, .global_batch = 24}; }  // of 2, 3 and 4 ranks

class Shards : public testing::TestWithParam<ShardingCase> {};

TEST_P(Shards, ComputeWhatOneRankComputes) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  for (const ModelSpec& model : {test::biased(test::small_moe()), test::small_mla()}) {
    const TrainResult one = train(compile(model, batch(), fp32_plan(), Runtime::pleat), config);
    const TrainResult many =
        train(compile(model, batch(), GetParam().plan, Runtime::pleat), config);
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-5 * one.steps[0].loss);
    EXPECT_NEAR(many.steps[0].grad_norm, one.steps[0].grad_norm, 1e-5 * one.steps[0].grad_norm);
    test::expect_close(many.gradients, one.gradients, 1e-5);
  }
}

TEST_P(Shards, LearnWhatOneRankLearns) {
  TrainConfig config = test::small_config(3);
  test::skew(config);
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = train(compile(model, batch(), fp32_plan(), Runtime::pleat), config);
  const TrainResult many = train(compile(model, batch(), GetParam().plan, Runtime::pleat), config);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
  }
  test::expect_close(many.weights, one.weights, 1e-4);
  EXPECT_NE(one.steps[2].loss, one.steps[0].loss);
}

TEST_P(Shards, MemoryIsPredictedToTheByte) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  const Plan& plan = GetParam().plan;
  const Program program = compile(test::small_moe(), test::small_workload(), plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  const std::int64_t balanced =
      balanced_routed_tokens(program.model, program.workload, program.plan);
  const std::int64_t predicted =
      peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; });
  for (const RankMeasurement& rank : result.ranks) EXPECT_EQ(rank.peak_live_bytes, predicted);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Shards, testing::ValuesIn(sharding_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// A table that the embedding, a prediction depth and a tied head read lies in shards once.
TEST(Sharding, ATableOfSeveralLayers) {
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0.1;
  ModelSpec tied = test::small_moe(), depth = test::small_mla();
  tied.tied_embeddings = true;
  depth.mtp_layers = 1;
  depth.mtp_loss = 0.3;
  ModelSpec both = tied;
  both.mtp_layers = 1;
  both.mtp_loss = 0.3;
  for (const ModelSpec& model : {tied, depth, both}) {
    const TrainResult one = train(compile(model, batch(), fp32_plan(), Runtime::pleat), config);
    for (const Sharding kind : {Sharding::zero2, Sharding::zero3}) {
      for (const Plan& layout :
           {fp32_plan(3), zero(kind, fp32_plan(4, 2), 2), tensor(fp32_plan(2, 2))}) {
        const Plan plan = zero(kind, layout, layout.fsdp_group);
        SCOPED_TRACE(summary(plan));
        const TrainResult many = train(compile(model, batch(), plan, Runtime::pleat), config);
        for (std::size_t s = 0; s < 2; ++s) {
          EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
          EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm,
                      1e-5 * one.steps[s].grad_norm);
        }
        test::expect_close(many.gradients, one.gradients, 1e-4);  // of weights a step apart
      }
    }
  }
}

TEST(Sharding, MemoryOfSharedTablesAndNarrowCopiesIsPredictedToTheByte) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  config.keep_gradients = false;
  ModelSpec model = test::small_moe();
  model.tied_embeddings = true;
  model.mtp_layers = 1;
  for (const Sharding kind : {Sharding::zero2, Sharding::zero3}) {
    for (const Precision precision : {Precision::fp32, Precision::mxfp8, Precision::nvfp4}) {
      for (Plan plan : {zero(kind, fp32_plan(4, 2)), recomputing_all(zero(kind, fp32_plan(3)))}) {
        plan.precision = precision;
        plan.fp8_params = false;
        const Program program = compile(model, batch(), plan, Runtime::pleat);
        const std::int64_t balanced = balanced_routed_tokens(model, batch(), plan);
        const std::int64_t predicted =
            peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; });
        for (const RankMeasurement& rank : train(program, config).ranks) {
          EXPECT_EQ(rank.peak_live_bytes, predicted) << summary(plan);
        }
      }
    }
  }
}

// With one microbatch the sums are the same additions, sharded or not.
TEST(Sharding, IsTheSameBitsWithOneMicrobatch) {
  TrainConfig config = test::small_config(3);
  config.clip_norm = 0;
  const WorkloadSpec workload{.seq_len = 16, .global_batch = 4};
  const auto run = [&](const Plan& plan) {
    return train(compile(test::small_moe(), workload, plan, Runtime::pleat), config);
  };
  const TrainResult whole = run(zero(Sharding::none, fp32_plan(4, 2)));
  for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
    const TrainResult shards = run(zero(sharding, fp32_plan(4, 2)));
    for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(shards.steps[s].loss, whole.steps[s].loss);
    test::expect_same_bits(shards.gradients, whole.gradients);
    test::expect_same_bits(shards.weights, whole.weights);
  }
}

// Gathered weights have the narrow copies that whole ones have.
TEST(Sharding, IsTheSameBitsWithNarrowProducts) {
  TrainConfig config = test::small_config(3);
  config.clip_norm = 0;
  const WorkloadSpec workload{.seq_len = 16, .global_batch = 4};
  for (const Precision precision :
       {Precision::fp8, Precision::fp8_block, Precision::mxfp8, Precision::nvfp4}) {
    const auto run = [&](Plan plan, Sharding sharding) {
      plan.precision = precision;
      plan.fp8_params = false;
      const Program program =
          compile(test::small_moe(), workload, zero(sharding, plan), Runtime::pleat);
      return train(program, config);
    };
    for (const Plan& plan : {fp32_plan(4, 2), recomputing_all(fp32_plan(4, 4))}) {
      const TrainResult whole = run(plan, Sharding::zero1);
      const TrainResult shards = run(plan, Sharding::zero3);
      for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(shards.steps[s].loss, whole.steps[s].loss);
      test::expect_same_bits(shards.gradients, whole.gradients);
      test::expect_same_bits(shards.weights, whole.weights);
    }
  }
}

TEST(Sharding, SavesMemoryStepByStep) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (const Sharding sharding :
       {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
    const TrainResult r = test::run(test::small_moe(), zero(sharding, fp32_plan(4)), config);
    EXPECT_LT(r.ranks[0].peak_live_bytes, last) << name_of(sharding);
    last = r.ranks[0].peak_live_bytes;
  }
}

}  // namespace
}  // namespace pleat
