// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Gradients that are not finite: no rank changes a weight, the run goes on, stops after too many,
// and names the rank whose bits change when the step is repeated.
#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <memory>

#include "backend/execute/executor.hpp"
#include "backend/replica_check.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using ::testing::HasSubstr;

// Puts a value into an expert's gradient on one rank, before the norm of a step is taken.
TrainConfig with_gradient(int at_step, float value, int times) {
  TrainConfig config = test::small_config(4);
  config.change_gradients = [=, left = std::make_shared<std::atomic<int>>(times)](
                                Rank rank, int step, Bucket bucket, std::span<float> gradients) {
    if (rank.value != 1 || step != at_step || bucket != Bucket::expert) return;
    if (left->fetch_sub(1) > 0) gradients[17] = value;
  };
  return config;
}

ExitCode train_code(const TrainConfig& config, std::string& message) {
  try {
    (void)test::run(test::small_moe(), test::fp32_plan(2, 2, 2), config);
  } catch (const ConfigError& e) {
    message = e.what();
    return e.exit_code();
  }
  return ExitCode::done;
}

TEST(SkippedStep, NaNInOneExpertsGradientSkipsTheStepOnAllRanks) {
  for (float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    TrainConfig config = with_gradient(3, value, 100);
    const TrainResult skipped = test::run(test::small_moe(), test::fp32_plan(2, 2, 2), config);
    ASSERT_EQ(skipped.steps.size(), 4U);
    EXPECT_FALSE(skipped.steps[2].skipped);
    EXPECT_TRUE(skipped.steps[3].skipped);
    // The weights are those of three steps.
    const TrainResult three =
        test::run(test::small_moe(), test::fp32_plan(2, 2, 2), test::small_config(3));
    test::expect_same_bits(skipped.weights, three.weights);
  }
}

TEST(SkippedStep, TheNextStepGoesOnAsIfItHadNotBeen) {
  const TrainResult run = test::run(test::small_moe(), test::fp32_plan(2, 2, 2),
                                    with_gradient(1, std::numeric_limits<float>::quiet_NaN(), 100));
  EXPECT_TRUE(run.steps[1].skipped);
  EXPECT_FALSE(run.steps[2].skipped);
  EXPECT_TRUE(std::isfinite(run.steps[3].loss));
}

// Codes have taken the weights' place by then, in the step and in its repetition.
TEST(SkippedStep, BringsWeightsKeptNarrowBack) {
  TrainConfig config = with_gradient(1, std::numeric_limits<float>::quiet_NaN(), 100);
  Plan plan = test::fp32_plan(2, 2, 2);
  plan.precision = Precision::mxfp8;
  plan.fp8_params = false;
  const TrainResult beside = test::run(test::small_moe(), plan, config);
  plan.fp8_params = true;
  config = with_gradient(1, std::numeric_limits<float>::quiet_NaN(), 100);
  const TrainResult kept = test::run(test::small_moe(), plan, config);
  EXPECT_TRUE(kept.steps[1].skipped);
  EXPECT_EQ(kept.steps[3].loss, beside.steps[3].loss);
  test::expect_same_bits(kept.weights, beside.weights);
}

TEST(SkippedStep, OtherBitsTheSecondTimeNameTheRank) {
  std::string message;
  EXPECT_EQ(train_code(with_gradient(1, std::numeric_limits<float>::quiet_NaN(), 1), message),
            ExitCode::corruption);
  EXPECT_THAT(message, HasSubstr("step 1 gave other bits when it was repeated, on rank 1"));
}

TEST(SkippedStep, TooManyInARowStop) {
  TrainConfig config = test::small_config(20);
  config.max_skipped = 3;
  config.change_gradients = [](Rank, int step, Bucket, std::span<float> gradients) {
    if (step >= 2) gradients[0] = std::numeric_limits<float>::infinity();
  };
  std::string message;
  EXPECT_EQ(train_code(config, message), ExitCode::diverged);
  EXPECT_THAT(message, HasSubstr("no finite gradients in 3 steps up to step 4"));
}

// A bit flips in one replica's weight between two steps.
TEST(Replicas, AFlippedBitNamesTheRank) {
  for (const int rank : {1, 2}) {
    for (const std::size_t bucket : {0, 1}) {
      TrainConfig config = test::small_config(4);
      config.after_step = [=](const StepBoundary& b) {
        if (b.next_step == 2 && b.context.rank().value == rank) {
          for (const StateRange& range : b.executor.needed_ranges()) {
            if (range.bucket != bucket || std::string_view(range.kind) != "weight") continue;
            static_cast<unsigned char*>(range.values.data)[101] ^= 1;
          }
        }
        check_replicas(b);
      };
      std::string message = "nothing";
      try {
        (void)test::run(test::small_moe(), test::fp32_plan(4), config);
      } catch (const ConfigError& e) {
        EXPECT_EQ(e.exit_code(), ExitCode::corruption);
        message = e.what();
      }
      EXPECT_THAT(message, HasSubstr("after 2 steps the weights of rank " + std::to_string(rank) +
                                     " are not those"));
    }
  }
}

}  // namespace
}  // namespace pleat
