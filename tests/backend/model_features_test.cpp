// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every feature of models over layouts: losses, norms and gradients as on one rank, recompute and
// repeats to the bit, peak memory to the byte.
#include <gtest/gtest.h>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/model_cases.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::recomputing_all;

using test::fp32_plan;
using test::ModelCase;

using test::tp_plan;

Plan whole_tokens(Plan plan) {
  plan.sequence_parallel = false;
  return plan;
}

// Sequences shared by two ranks.
Plan with_context(Plan plan) {
  plan.attention.cp = 2;
  plan.expert.edp *= 2;
  plan.sharding = Sharding::zero1;
  return plan;
}

std::vector<Plan> feature_layouts(const ModelSpec& m) {
  if (!m.moe) {
    return {fp32_plan(2), fp32_plan(2, 1, 4), tp_plan(2, 1, 1, 2), whole_tokens(tp_plan(2)),
            with_context(tp_plan(2))};
  }
  return {fp32_plan(4, 2),
          fp32_plan(2, 2, 2),
          fp32_plan(1, 1, 4),
          tp_plan(2, 2, 4),
          tp_plan(2, 1, 2, 2),
          with_context(tp_plan(2)),
          with_context(fp32_plan(2, 2, 2))};
}

// Small weights everywhere, also where they start as zeros, so that every gradient is there.
TrainConfig lively_config(int steps) {
  TrainConfig config = test::small_config(steps);
  config.seed = 19;
  config.adjust_weight = [](const std::string& name, std::span<float> values) {
    if (name.ends_with("router")) {
      for (float& v : values) v *= 20;
    }
    const bool starts_at_zero = name.ends_with("bias") || name.ends_with("sinks");
    if (starts_at_zero && !name.ends_with("expert_bias")) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = 0.02F * static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
      }
    }
  };
  return config;
}

void expect_near(double a, double b, const char* what) {
  EXPECT_NEAR(a, b, 1e-5 * std::abs(b)) << what;
}

void expect_same_record(const StepRecord& a, const StepRecord& b) {
  expect_near(a.loss, b.loss, "loss");
  expect_near(a.grad_norm, b.grad_norm, "norm");
  expect_near(a.extra.mtp, b.extra.mtp, "mtp");
  expect_near(a.extra.aux, b.extra.aux, "aux");
  expect_near(a.extra.seq_aux, b.extra.seq_aux, "seq_aux");
  expect_near(a.extra.z, b.extra.z, "z");
}

class ModelFeature : public testing::TestWithParam<ModelCase> {};

TEST_P(ModelFeature, LayoutsComputeWhatOneRankDoes) {
  const ModelSpec& model = GetParam().model;
  const TrainConfig config = lively_config(1);
  const TrainResult one = test::run(model, fp32_plan(), config);
  for (const Plan& plan : feature_layouts(model)) {
    SCOPED_TRACE(summary(plan));
    const TrainResult many = test::run(model, plan, config);
    expect_same_record(many.steps[0], one.steps[0]);
    test::expect_close(many.gradients, one.gradients, 1e-5);
  }
  EXPECT_GT(one.gradients.size(), 20U);
  for (const auto& [name, values] : one.gradients) {
    const bool zero = std::all_of(values.begin(), values.end(), [](float v) { return v == 0; });
    const bool unused = name.find(".experts.") != std::string::npos;  // nobody is sent to some
    EXPECT_TRUE(!zero || unused) << name << " has no gradient";
  }
}

// Documents one after another in a sequence, shared over ranks or not.
TEST_P(ModelFeature, PackedDocumentsAreThoseOfOneRank) {
  const ModelSpec& model = GetParam().model;
  WorkloadSpec packed = test::small_workload();
  packed.documents = {5, 1, 9, 30};
  const TrainConfig config = lively_config(1);
  const TrainResult one = test::run(model, fp32_plan(), config, packed);
  const TrainResult whole = test::run(model, fp32_plan(), config);
  EXPECT_GT(std::abs(one.steps[0].loss - whole.steps[0].loss), 1e-5 * whole.steps[0].loss);
  for (const Plan& plan : {with_context(fp32_plan(2)), tp_plan(2)}) {
    SCOPED_TRACE(summary(plan));
    const TrainResult many = test::run(model, plan, config, packed);
    expect_same_record(many.steps[0], one.steps[0]);
    test::expect_close(many.gradients, one.gradients, 1e-5);
  }
}

TEST_P(ModelFeature, RecomputeChangesNoBit) {
  const ModelSpec& model = GetParam().model;
  const TrainConfig config = lively_config(2);
  const Plan plan = model.moe ? fp32_plan(2, 2, 2) : fp32_plan(2, 1, 2);
  const TrainResult kept = test::run(model, plan, config);
  const TrainResult again = test::run(model, recomputing_all(plan), config);
  EXPECT_EQ(kept.steps[1].loss, again.steps[1].loss);
  EXPECT_EQ(kept.steps[1].extra.aux, again.steps[1].extra.aux);
  test::expect_same_bits(again.gradients, kept.gradients);
  test::expect_same_bits(again.weights, kept.weights);
}

TEST_P(ModelFeature, PeakMemoryIsPredictedToTheByte) {
  const ModelSpec& model = GetParam().model;
  TrainConfig config = lively_config(1);
  config.forced_routing = true;
  config.keep_gradients = false;
  std::vector<Plan> plans = feature_layouts(model);
  plans.push_back(fp32_plan());
  plans.push_back(recomputing_all(fp32_plan(1, 1, 2)));
  for (const Plan& plan : plans) {
    const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(model, test::small_workload(), plan);
    for (int r = 0; r < plan.world(); ++r) {
      const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
      EXPECT_EQ(
          result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
          peak_live_bytes(program.stages[stage], [&](MicroBatch, LayerIndex) { return balanced; }))
          << summary(plan) << " rank " << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelFeature, testing::ValuesIn(test::model_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat
