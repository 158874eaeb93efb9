// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every optimizer on every way to divide its state: what one rank computes, in as many bytes as
// predicted, and going on from a checkpoint as if nothing had happened.
#include <ostream>

#include "backend/optimizer/weight_decay.hpp"
#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::SavedRun;
using test::TemporaryFolder;
using test::tp_plan;

struct Kind {
  const char* name;
  OptimizerPlan optimizer;
};

std::vector<Kind> kinds() {
  OptimizerPlan sgd;
  sgd.kind = OptimizerKind::sgd;
  return {{"adamw", {}}, {"sgd", sgd}};
}

struct Place {
  const char* name;
  Plan plan;
};

Plan with(Plan plan, Sharding sharding) {
  plan.sharding = sharding;
  return plan;
}

std::vector<Place> places() {
  Plan instances = fp32_plan(4);
  instances.optimizer_instances = 2;
  return {{"DP2", fp32_plan(2)},
          {"DP4_EP2_unsharded", with(fp32_plan(4, 2), Sharding::none)},
          {"DP4_EP2", fp32_plan(4, 2)},
          {"DP4_instances", instances},
          {"PP2_EP2", fp32_plan(2, 2, 2)},
          {"TP2_DP2_EP2", tp_plan(2, 2, 2)},
          {"TP4_EP2", tp_plan(4, 1, 2)},
          {"TP2_ETP2_DP2", test::folded_plan({2, 1, 2, 1}, 2, 1)},
          {"ZeRO2_DP4_EP2", with(fp32_plan(4, 2), Sharding::zero2)},
          {"ZeRO3_DP4", with(fp32_plan(4), Sharding::zero3)}};
}

bool allowed(const OptimizerPlan& o, const Plan& p) {
  const bool cut = p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
  return o.kind != OptimizerKind::muon || !cut;
}

struct Case {
  std::string name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Kind& kind : kinds()) {
    for (Place place : places()) {
      place.plan.optimizer = kind.optimizer;
      if (!allowed(kind.optimizer, place.plan)) continue;
      all.push_back({std::string(kind.name) + "_" + place.name, place.plan});
    }
  }
  return all;
}

Plan alone(const Plan& plan) {
  Plan one = fp32_plan();
  one.optimizer = plan.optimizer;
  return one;
}

// Gradients as they are, a rate that changes, some elements that decay. AdamW's steps do not jump where
// gradients vanish.
TrainConfig settings(int steps) {
  TrainConfig config = test::small_config(steps);
  test::skew(config);
  config.adamw = {.lr = 0.05, .eps = 1e-3, .weight_decay = 0.1};
  config.schedule = {.decay = LrDecay::cosine,
                     .start = 0.01,
                     .lowest = 0.002,
                     .warmup_updates = 1,
                     .decay_updates = 6};
  return config;
}

class Optimizers : public testing::TestWithParam<Case> {};

TEST_P(Optimizers, StepAsOnOneRank) {
  const Plan& plan = GetParam().plan;
  const TrainConfig config = settings(3);
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, alone(plan), config);
  const TrainResult many = test::run(model, plan, config);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss) << s;
    EXPECT_EQ(many.steps[s].lr, learning_rate(config.schedule, 0.05, static_cast<int>(s))) << s;
  }
  EXPECT_GT(std::abs(one.steps[2].loss - one.steps[0].loss), 1e-3);
  test::expect_close(many.gradients, one.gradients, 1e-4);
  test::expect_close(many.weights, one.weights, 1e-5);
}

TEST_P(Optimizers, HoldAsManyBytesAsPredicted) {
  const Plan& plan = GetParam().plan;
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  const Program program = compile(test::small_moe(), test::small_workload(), plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  const std::int64_t rows = balanced_routed_tokens(program.model, program.workload, plan);
  for (int r = 0; r < plan.world(); ++r) {
    const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
    EXPECT_EQ(
        result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
        peak_live_bytes(program.stages[stage], [&](MicroBatch, LayerIndex) { return rows; }));
  }
}

TEST_P(Optimizers, GoOnBitByBit) {
  const Plan& plan = GetParam().plan;
  const TemporaryFolder whole, broken;
  SavedRun straight{.plan = plan, .steps = 4, .save = whole.path(), .config = settings(4)};
  const TrainResult expected = straight.run();
  SavedRun first{.plan = plan, .steps = 2, .save = broken.path(), .config = settings(2)};
  (void)first.run();
  SavedRun second{.plan = plan,
                  .steps = 4,
                  .save = broken.path(),
                  .load = broken.path(),
                  .config = settings(4)};
  const TrainResult actual = second.run();
  ASSERT_EQ(actual.steps.size(), 2U);
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(actual.steps[s].loss, expected.steps[s + 2].loss);
    EXPECT_EQ(actual.steps[s].lr, expected.steps[s + 2].lr);
  }
  test::expect_same_bits(actual.weights, expected.weights);
  test::expect_same_bits(test::tensors_in(broken / "step_00000004"),
                         test::tensors_in(whole / "step_00000004"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Optimizers, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// --- weight decay

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// One step with and without decay: what differs decayed.
TEST(WeightDecay, LeavesNormsAndBiasesAlone) {
  ModelSpec model = test::biased(test::small_moe());
  model.attention.qk_norm = true;
  model.attention.qkv_bias = true;
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd}) {
    for (const bool tables : {true, false}) {
      Plan plan = fp32_plan(4, 2);
      plan.optimizer.kind = kind;
      TrainConfig config = test::small_config();
      config.adamw = {.lr = 0.5, .weight_decay = 0};
      config.tables_decay = tables;
      const TrainResult without = test::run(model, plan, config);
      config.adamw.weight_decay = 0.5;
      const TrainResult with_decay = test::run(model, plan, config);
      int left = 0;
      for (const auto& [name, values] : with_decay.weights) {
        const bool vector = name.ends_with("norm") || name.ends_with("bias") ||
                            name.find("_norm") != std::string::npos;
        const bool stays = vector || (name == "embedding" && !tables);
        left += stays ? 1 : 0;
        const float change = largest_difference(values, without.weights.at(name));
        if (stays) {
          EXPECT_EQ(change, 0) << name;
        } else {
          EXPECT_GT(change, 1e-3F) << name;  // 0.25 of a weight of 0.02
        }
      }
      EXPECT_GT(left, 17);
    }
  }
}

TEST(WeightDecay, CutsAStretchWhereItChanges) {
  const std::vector<ElementRange> ranges{{2, 3}, {8, 2}, {12, 4}};
  const auto cut = [&](std::int64_t first, std::int64_t end) {
    std::string text;
    for_each_run(ranges, first, end, [&](std::int64_t at, std::int64_t elements, bool inside) {
      text += std::to_string(at) + "+" + std::to_string(elements) + (inside ? "! " : " ");
    });
    return text;
  };
  EXPECT_EQ(cut(0, 20), "0+2 2+3! 5+3 8+2! 10+2 12+4! 16+4 ");
  EXPECT_EQ(cut(3, 9), "3+2! 5+3 8+1! ");
  EXPECT_EQ(cut(5, 8), "5+3 ");
  EXPECT_EQ(cut(13, 14), "13+1! ");
  EXPECT_EQ(cut(17, 19), "17+2 ");
  EXPECT_EQ(cut(4, 4), "");
  std::string none;
  for_each_run({}, 3, 5, [&](std::int64_t at, std::int64_t n, bool) {
    none += std::to_string(at) + "+" + std::to_string(n);
  });
  EXPECT_EQ(none, "3+2");
}

}  // namespace
}  // namespace pleat
