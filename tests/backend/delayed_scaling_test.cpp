// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Scales from the amax of earlier steps: what they are, who has them, what a checkpoint keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "core/program/amax_buffers.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::SavedRun;
using test::TemporaryFolder;
using test::Tensors;

Plan in_fp8(Precision precision, Plan plan = fp32_plan()) {
  plan.precision = precision;
  plan.fp8_params = false;
  return plan;
}
Plan delayed(Plan plan = fp32_plan()) { return in_fp8(Precision::fp8_delayed, plan); }

ModelSpec dense() {
  ModelSpec m = test::small_moe();
  m.moe.reset();
  m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
  return m;
}

// The amax that a checkpoint has, by name.
Tensors amax_after(const ModelSpec& model, const Plan& plan, int steps,
                   TrainConfig config = test::small_config()) {
  const TemporaryFolder folder;
  SavedRun run{
      .model = model, .plan = plan, .steps = steps, .save = folder.path(), .config = config};
  (void)run.run();
  Tensors found = test::tensors_in(folder / fmt::format("step_{:08}", steps));
  std::erase_if(found, [](const auto& t) { return !t.first.starts_with("amax"); });
  return found;
}

TrainConfig without_updates() {
  TrainConfig config = test::small_config();
  config.adamw.lr = 0;
  return config;
}

// The first step has nothing to go by but its own numbers.
TEST(DelayedScaling, TheFirstStepIsCurrentScalingAndTheSecondIsNot) {
  for (const ModelSpec& model : {dense(), test::small_moe(), test::small_mla()}) {
    for (const Plan& plan : {fp32_plan(), fp32_plan(2, 2, 2)}) {
      TrainConfig config = test::small_config(1);
      const auto gradients = [&](Precision p) {
        return test::run(model, in_fp8(p, plan), config).gradients;
      };
      test::expect_same_bits(gradients(Precision::fp8_delayed), gradients(Precision::fp8));
      config = without_updates();
      config.steps = 2;
      EXPECT_NE(gradients(Precision::fp8_delayed), gradients(Precision::fp8));
    }
  }
}

// Step s writes row s % kAmaxSteps and leaves the others.
TEST(DelayedScaling, TheHistoryGoesRound) {
  constexpr int kSteps = static_cast<int>(kAmaxSteps) + 3;
  TrainConfig config = test::small_config();
  config.keep_gradients = false;
  const Tensors found = amax_after(dense(), delayed(), kSteps, config);
  const Tensors before = amax_after(dense(), delayed(), kSteps - 1, config);
  ASSERT_EQ(found.size() % kAmaxSteps, 0U);
  const std::string newest = fmt::format("amax{}/", (kSteps - 1) % kAmaxSteps);
  int tensors = 0;
  for (const auto& [name, values] : found) {
    EXPECT_GT(*std::ranges::max_element(values), 0) << name;
    if (name.starts_with(newest)) {
      EXPECT_NE(values, before.at(name)) << name;
      ++tensors;
    } else {
      EXPECT_EQ(values, before.at(name)) << name;
    }
  }
  EXPECT_EQ(tensors * kAmaxSteps, std::ssize(found));
}

// What microbatches of one rank have seen is what ranks of data parallelism have.
TEST(DelayedScaling, DataParallelRanksHaveTheAmaxOfAll) {
  const Tensors one = amax_after(dense(), delayed(), 2, without_updates());
  for (const Plan& plan : {fp32_plan(2), fp32_plan(4), fp32_plan(2, 1, 2)}) {
    EXPECT_EQ(amax_after(dense(), delayed(plan), 2, without_updates()), one) << summary(plan);
  }
}

// A tensor has one name, and about one amax, however its layer is divided.
TEST(DelayedScaling, EveryLayoutKnowsTheTensorsOfTheOthers) {
  TrainConfig config = without_updates();
  config.forced_routing = true;
  for (const ModelSpec& model : {dense(), test::small_moe(), test::small_mla()}) {
    const Tensors one = amax_after(model, delayed(), 2, config);
    std::vector<Plan> plans{fp32_plan(4, 4), test::tp_plan(2), test::tp_plan(2, 2, 2),
                            test::folded_plan({1, 1, 4, 1}, 2, 2),
                            test::folded_plan({1, 2, 2, 1}, 1, 2)};
    plans[0].sharding = Sharding::zero2;
    plans[3].dispatcher = Dispatcher::allgather;
    for (const Plan& plan : plans) {
      if (!model.moe && plan.expert.etp * plan.expert.ep > 1) continue;
      const Tensors many = amax_after(model, delayed(plan), 2, config);
      ASSERT_EQ(many.size(), one.size()) << model.name << ' ' << summary(plan);
      for (const auto& [name, values] : one) {
        ASSERT_TRUE(many.contains(name)) << name << ' ' << summary(plan);
        EXPECT_LT(test::relative_difference(many.at(name), values), 0.3)
            << name << ' ' << summary(plan);
      }
    }
  }
}

// Its amax may be what made the gradients infinite.
TEST(DelayedScaling, ASkippedStepLeavesTheHistory) {
  const auto with_nan_at = [](int at) {
    TrainConfig config = test::small_config();
    config.change_gradients = [=](Rank, int step, Bucket, std::span<float> gradients) {
      if (step == at) gradients[0] = std::numeric_limits<float>::quiet_NaN();
    };
    return config;
  };
  const Tensors two = amax_after(dense(), delayed(), 2);
  const Tensors skipped = amax_after(dense(), delayed(), 3, with_nan_at(2));
  EXPECT_EQ(skipped, two);
  EXPECT_NE(amax_after(dense(), delayed(), 3), two);
}

// Without a history in the checkpoint the first step after it is current scaling.
TEST(DelayedScaling, GoesOnFromARunWithOtherScales) {
  for (const Precision before : {Precision::bf16, Precision::fp8}) {
    const TemporaryFolder folder;
    SavedRun first{.plan = in_fp8(before), .steps = 2, .save = folder.path()};
    (void)first.run();
    const auto next = [&](Precision precision) {
      SavedRun run{.plan = in_fp8(precision), .steps = 3, .load = folder.path()};
      return run.run().steps.at(0).loss;
    };
    EXPECT_EQ(next(Precision::fp8_delayed), next(Precision::fp8));
  }
}

}  // namespace
}  // namespace pleat
