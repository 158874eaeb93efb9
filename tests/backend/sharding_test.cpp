// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where gradients, weights and optimizer state lie changes nothing: every kind of sharding computes
// what one rank computes, and holds as many bytes as predicted.
#include <gtest/gtest.h>

#include <ostream>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

struct Case {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

Plan instances(Plan plan, int count) {
  plan.optimizer_instances = count;
  return plan;
}

std::vector<Case> cases() {
  return {{"zero1_two_instances", instances(fp32_plan(4), 2)},
          {"zero1_two_instances_of_experts", instances(fp32_plan(4, 2), 2)}};
}

class Shards : public testing::TestWithParam<Case> {};

TEST_P(Shards, ComputeWhatOneRankComputes) {
  TrainConfig config = test::small_config(3);
  test::skew(config);
  for (const ModelSpec& model : {test::biased(test::small_moe()), test::small_mla()}) {
    const TrainResult one = test::run(model, fp32_plan(), config);
    const TrainResult many = test::run(model, GetParam().plan, config);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
      EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm, 1e-5 * one.steps[s].grad_norm);
    }
    test::expect_close(many.gradients, one.gradients, 2e-5);  // of the third step
  }
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

INSTANTIATE_TEST_SUITE_P(Kinds, Shards, testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pleat
