// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bugs of docs/KNOWN_BUGS.md that no test of one part has: gradients of experts, padding of groups,
// the optimizer's state of several stages.
#include <gtest/gtest.h>

#include "tests/backend/checkpoint/saved_runs.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::folded_plan;
using test::fp32_plan;

// 2. NVIDIA/Megatron-LM#1628: with ETP and without EP experts' gradients were summed over the dense
// data-parallel group, whose ranks hold other parts of the experts.
TEST(KnownBugs, ExpertGradientsSummedOverTheDenseGroup) {
  TrainConfig config = test::small_config(2);
  test::skew(config);
  config.adamw = {.lr = 300, .beta1 = 0, .beta2 = 0, .eps = 1000};  // proportional to the gradient
  config.clip_norm = 0;
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), config);
  for (Plan plan : {folded_plan({.dp = 4}, 2, 1), folded_plan({.tp = 2, .dp = 4}, 4, 1)}) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero3}) {
      plan.sharding = sharding;
      SCOPED_TRACE(summary(plan));
      const TrainResult many = test::run(model, plan, config);
      test::expect_close(many.gradients, one.gradients, 1e-5);
      test::expect_close(many.weights, one.weights, 1e-5);
    }
  }
}

// 18. torchtitan#1718, NVIDIA/Megatron-LM#4038, #2763: rows that fill a group up, for narrow
// products or where nothing is narrow, changed what experts compute. Padded or not, the bits are
// the same.
TEST(KnownBugs, PaddingOfGroupsChangesWhatExpertsCompute) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  const ModelSpec model = test::biased(test::small_moe());
  WorkloadSpec padded = test::small_workload();
  padded.capacity_factor = 5;  // more than routing sends
  padded.pad_to_capacity = true;
  for (const Precision precision :
       {Precision::fp32, Precision::bf16, Precision::fp8, Precision::fp8_block, Precision::mxfp8}) {
    Plan plan = fp32_plan();
    plan.precision = precision;
    plan.fp8_params = false;
    SCOPED_TRACE(summary(plan));
    const TrainResult tight = test::run(model, plan, config);
    const TrainResult filled = test::run(model, plan, config, padded);
    EXPECT_EQ(filled.steps[0].loss, tight.steps[0].loss);
    test::expect_close(filled.gradients, tight.gradients, 1e-6);
    for (const float g : filled.gradients.at("layers.1.experts.5.fc1")) EXPECT_EQ(g, 0.0F);
  }
}

// 23. NVIDIA/Megatron-LM 9a45638: with several stages the optimizer's groups, with decay and
// without, came back in another order.
TEST(KnownBugs, OptimizerGroupsOfStagesComeBackMixed) {
  const auto run = [](const Plan& plan, int steps, const std::string& save,
                      const std::string& load) {
    test::SavedRun r{.plan = plan, .steps = steps};
    r.config.adamw = {.lr = 0.05, .eps = 1e-3, .weight_decay = 0.5};
    r.save = save;
    r.load = load;
    return r.run();
  };
  const Plan staged = fp32_plan(2, 2, 2);
  const test::TemporaryFolder whole, broken;
  const TrainResult expected = run(staged, 4, whole.path(), "");
  (void)run(staged, 2, broken.path(), "");
  test::expect_same_bits(run(staged, 4, "", broken.path()).weights, expected.weights);
  const TrainResult one_stage = run(fp32_plan(2, 2), 4, "", broken.path());
  test::expect_close(one_stage.weights, expected.weights, 1e-5);
}

}  // namespace
}  // namespace pleat
