// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// fp32 main parameters as bf16 weights and 16 more bits.
#include "backend/optimizer/remainder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <utility>

#include "tests/backend/checkpoint/saved_runs.hpp"

namespace pleat {
namespace {

TEST(Remainder, WeightAndRestAreTheNumber) {
  for (const std::uint32_t high : {0x0000U, 0x0001U, 0x3f80U, 0x3f81U, 0x7f7eU, 0x8000U, 0xbf7fU}) {
    for (std::uint32_t low = 0; low < 0x10000U; ++low) {
      const std::uint32_t bits = high << 16U | low;
      const SplitFloat s = split(std::bit_cast<float>(bits));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(joined(s)), bits);
      const bool half = low == 0x8000U;  // where others round to even
      if (half) continue;
      ASSERT_EQ(s.weight, to_bf16(std::bit_cast<float>(bits))) << bits;
    }
  }
}

// Why halves do not go to even: an even weight would stand for one number more than 16 bits can
// tell apart, both halfway points beside it, and an odd one for one less.
TEST(Remainder, RoundingToEvenWouldLeaveOneNumberOut) {
  for (const auto& [high, numbers] : {std::pair{0x3f80U, 0x10001}, {0x3f81U, 0xffff}}) {
    int to_even = 0, away = 0;
    for (std::uint32_t bits = (high - 1) << 16U; bits < (high + 2) << 16U; ++bits) {
      const float x = std::bit_cast<float>(bits);
      to_even += to_bf16(x).bits == high;
      away += split(x).weight.bits == high;
    }
    EXPECT_EQ(to_even, numbers);
    EXPECT_EQ(away, 0x10000);
  }
}

// The bits of fp32 main parameters, where a step does not end halfway between two weights: one in
// 65536 does. (The next step's gradients know of it.)
TEST(Remainder, IsTheSameStepInTwoBytesLess) {
  TrainConfig config = test::small_config(1);
  for (const Sharding sharding : {Sharding::zero1, Sharding::zero3}) {
    for (const double away : {0.0, 0.4}) {
      for (const DType moment : {DType::fp32, DType::fp8}) {
        Plan plan = test::fp32_plan(4, 2);
        plan.precision = Precision::bf16;
        plan.sharding = sharding;
        plan.optimizer.state_offload = away;
        plan.optimizer.exp_avg = moment;
        SCOPED_TRACE(summary(plan));
        const TrainResult wide = test::run(test::small_moe(), plan, config);
        plan.optimizer.main_params = DType::remainder16;
        const TrainResult halves = test::run(test::small_moe(), plan, config);
        std::int64_t other = 0;  // of 81952
        for (const auto& [name, values] : wide.weights) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            other += values[i] != halves.weights.at(name)[i] ? 1 : 0;
          }
        }
        EXPECT_LE(other, 4);
        EXPECT_LT(halves.ranks[0].peak_live_bytes, wide.ranks[0].peak_live_bytes);
      }
    }
  }
}

// Saved as fp32: going on is bitwise, with other layouts and with fp32 main parameters too.
TEST(Remainder, ResumeIsBitwise) {
  test::SavedRun through{.plan = test::fp32_plan(2, 2), .steps = 4};
  through.plan.precision = Precision::bf16;
  through.plan.optimizer.main_params = DType::remainder16;
  const TrainResult expected = through.run();
  const test::TemporaryFolder folder;
  test::SavedRun first = through;
  first.steps = 2;
  first.save = folder.path();
  (void)first.run();
  test::SavedRun second = through;
  second.load = folder.path();
  test::expect_same_bits(second.run().weights, expected.weights);
  const TrainResult went_on = second.run();
  second.plan.optimizer.main_params = DType::fp32;
  EXPECT_EQ(second.run().steps.front().loss, went_on.steps.front().loss);
  second.plan = test::fp32_plan(4, 4);
  second.plan.precision = Precision::bf16;
  second.plan.optimizer.main_params = DType::remainder16;
  EXPECT_NEAR(second.run().steps.front().loss, went_on.steps.front().loss,
              1e-3 * went_on.steps.front().loss);
}

}  // namespace
}  // namespace pleat
