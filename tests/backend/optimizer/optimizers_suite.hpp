// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every optimizer on every way to divide its state: what one rank computes, in as many bytes as
// predicted, and going on from a checkpoint as if nothing had happened.
#pragma once

#include <ostream>

#include "backend/optimizer/weight_decay.hpp"
#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"

namespace pleat::test {

struct OptimizerKindCase {
  const char* name;
  OptimizerPlan optimizer;
};

inline std::vector<OptimizerKindCase> kinds() {
  OptimizerPlan sgd;
  sgd.kind = OptimizerKind::sgd;
  OptimizerPlan muon, lamb;
  lamb.kind = OptimizerKind::lamb;
  muon.kind = OptimizerKind::muon;
  OptimizerPlan reloaded, on_host, mixed, sgd_on_host = sgd;
  reloaded.state_offload = 1;
  on_host.cpu_offload = 1;
  mixed.state_offload = 0.3;
  mixed.cpu_offload = sgd_on_host.cpu_offload = 0.45;
  OptimizerPlan bf16, fp16, fp8, fp8_mixed, fp8_away;
  bf16.exp_avg = bf16.exp_avg_sq = DType::bf16;
  fp16.exp_avg = fp16.exp_avg_sq = DType::fp16;
  fp8.exp_avg = fp8.exp_avg_sq = DType::fp8;
  fp8_mixed.exp_avg = DType::fp8;
  fp8_away = fp8_mixed;
  fp8_away.exp_avg_sq = DType::fp16;
  fp8_away.state_offload = 0.3;
  fp8_away.cpu_offload = 0.45;
  return {{"adamw", {}},
          {"sgd", sgd},
          {"muon", muon},
          {"lamb", lamb},
          {"reloaded", reloaded},
          {"on_host", on_host},
          {"mixed", mixed},
          {"sgd_on_host", sgd_on_host},
          {"bf16", bf16},
          {"fp16", fp16},
          {"fp8", fp8},
          {"fp8_mean", fp8_mixed},
          {"fp8_away", fp8_away}};
}

struct Place {
  const char* name;
  Plan plan;
};

inline Plan with(Plan plan, Sharding sharding) {
  plan.sharding = sharding;
  return plan;
}

inline std::vector<Place> places() {
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

inline bool allowed(const OptimizerPlan& o, const Plan& p) {
  const bool cut = p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
  return o.kind != OptimizerKind::muon || !cut;
}

struct OptimizerCase {
  std::string name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const OptimizerCase& c) {
    return out << c.name;
  }
};

inline std::vector<OptimizerCase> cases() {
  std::vector<OptimizerCase> all;
  for (const OptimizerKindCase& kind : kinds()) {
    for (Place place : places()) {
      place.plan.optimizer = kind.optimizer;
      if (!allowed(kind.optimizer, place.plan)) continue;
      all.push_back({std::string(kind.name) + "_" + place.name, place.plan});
    }
  }
  return all;
}

inline Plan alone(const Plan& plan) {
  Plan one = fp32_plan();
  one.optimizer = plan.optimizer;
  return one;
}

// Gradients as they are, a rate that changes, some elements that decay. AdamW's steps do not jump
// where gradients vanish. Muon's are large whatever the gradients are.
inline TrainConfig settings(const Plan& plan, int steps) {
  TrainConfig config = test::small_config(steps);
  test::skew(config);
  const bool muon = plan.optimizer.kind == OptimizerKind::muon;
  config.adamw = {.lr = muon ? 0.01 : 0.05, .eps = 1e-3, .weight_decay = 0.1};
  config.muon.nesterov = true;
  config.schedule = {.decay = LrDecay::cosine,
                     .start = 0.002,
                     .lowest = 0.002,
                     .warmup_updates = 1,
                     .decay_updates = 6};
  return config;
}

class Optimizers : public testing::TestWithParam<OptimizerCase> {};

inline bool has_narrow_moments(const Plan& plan) {
  return plan.optimizer.exp_avg != DType::fp32 || plan.optimizer.exp_avg_sq != DType::fp32;
}

// Narrow moments round what other layouts sum up in another order: NarrowMoments.
TEST_P(Optimizers, StepAsOnOneRank) {
  const Plan& plan = GetParam().plan;
  if (has_narrow_moments(plan)) return;
  const TrainConfig config = settings(plan, 3);
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, alone(plan), config);
  const TrainResult many = test::run(model, plan, config);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss) << s;
    EXPECT_EQ(many.steps[s].lr,
              learning_rate(config.schedule, config.adamw.lr, static_cast<int>(s)))
        << s;
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
    EXPECT_EQ(
        result.ranks[static_cast<std::size_t>(r)].peak_host_bytes,
        peak_host_bytes(program.stages[stage], [&](MicroBatch, LayerIndex) { return rows; }));
  }
}

TEST_P(Optimizers, GoOnBitByBit) {
  const Plan& plan = GetParam().plan;
  const TemporaryFolder whole, broken;
  SavedRun straight{.plan = plan, .steps = 4, .save = whole.path(), .config = settings(plan, 4)};
  const TrainResult expected = straight.run();
  SavedRun first{.plan = plan, .steps = 2, .save = broken.path(), .config = settings(plan, 2)};
  (void)first.run();
  SavedRun second{.plan = plan,
                  .steps = 4,
                  .save = broken.path(),
                  .load = broken.path(),
                  .config = settings(plan, 4)};
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

// Of every optimizer some layouts are in the quick suite, so that each layout is there with some
// optimizer.
inline std::vector<OptimizerCase> optimizer_cases(bool quick) {
  std::vector<OptimizerCase> chosen;
  const std::vector<OptimizerCase> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((i % 4 == 0) == quick) chosen.push_back(all[i]);
  }
  return chosen;
}

}  // namespace pleat::test
