// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The learning rate of each step, at the joints of its schedule above all.
#include "backend/optimizer/lr_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pleat {
namespace {

// 4 steps up, down until the 20th.
LrSchedule schedule(LrDecay decay) {
  return {.decay = decay, .start = 0.1, .lowest = 0.2, .warmup_updates = 4, .decay_updates = 20};
}

TEST(LearningRate, WarmsUpFromItsStartToThePeak) {
  for (const LrDecay decay : {LrDecay::constant, LrDecay::linear, LrDecay::cosine,
                              LrDecay::inverse_square_root, LrDecay::wsd}) {
    const LrSchedule s = schedule(decay);
    EXPECT_DOUBLE_EQ(learning_rate(s, 1, 0), 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(s, 1, 1), 0.325);
    EXPECT_DOUBLE_EQ(learning_rate(s, 1, 4), 1);
  }
}

TEST(LearningRate, IsThePeakWithoutASchedule) {
  for (const std::int64_t step : {0, 1, 1000}) EXPECT_EQ(learning_rate({}, 0.7, step), 0.7);
}

TEST(LearningRate, GoesDownInALine) {
  const LrSchedule s = schedule(LrDecay::linear);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 8), 0.2 + 0.8 * 0.75);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 20), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 21), 0.2);
}

TEST(LearningRate, GoesDownAlongACosine) {
  const LrSchedule s = schedule(LrDecay::cosine);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 8), 0.2 + 0.4 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 12), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 20), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 400), 0.2);
}

TEST(LearningRate, FallsWithTheRootOfTheSteps) {
  const LrSchedule s = schedule(LrDecay::inverse_square_root);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 9), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 16), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1, 21), 0.2);
  LrSchedule late = s;
  late.warmup_updates = 0;
  EXPECT_DOUBLE_EQ(learning_rate(late, 1, 0), 1);
  EXPECT_DOUBLE_EQ(learning_rate(late, 1, 4), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(late, 1, 20), std::sqrt(0.05));
  late.lowest = 0.3;
  EXPECT_DOUBLE_EQ(learning_rate(late, 1, 20), 0.3);
}

TEST(LearningRate, StaysAndThenGoesDown) {
  LrSchedule s = schedule(LrDecay::wsd);
  s.wsd_decay_updates = 8;
  for (const std::int64_t step : {5, 11, 12}) EXPECT_EQ(learning_rate(s, 1, step), 1);
  const auto quarter = [&](WsdDecay how) {
    s.wsd_decay = how;
    EXPECT_NEAR(learning_rate(s, 1, 20), 0.2, 1e-15);
    EXPECT_EQ(learning_rate(s, 1, 21), 0.2);
    return learning_rate(s, 1, 14);
  };
  EXPECT_DOUBLE_EQ(quarter(WsdDecay::linear), 0.2 + 0.8 * 0.75);
  EXPECT_DOUBLE_EQ(quarter(WsdDecay::cosine), 0.2 + 0.4 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(quarter(WsdDecay::exponential), 0.2 + 0.8 * (2 * std::pow(0.5, 0.25) - 1));
  EXPECT_DOUBLE_EQ(quarter(WsdDecay::minus_sqrt), 0.2 + 0.8 * 0.5);
}

}  // namespace
}  // namespace pleat
