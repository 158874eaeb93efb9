// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plan is tried next, and how the choice is judged.
#include "application/tune/trial_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "application/tune/replay.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

// The mean over so many equal slices of probability.
double improvement_by_sampling(double median, double deviation, double best) {
  constexpr int kSlices = 200'000;
  double sum = 0;
  for (int i = 0; i < kSlices; ++i) {
    const double share = (i + 0.5) / kSlices;
    double low = -8, high = 8;
    for (int j = 0; j < 50; ++j) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
    }
    sum += std::max(0.0, best - median * std::exp(deviation * low));
  }
  return sum / kSlices;
}

TEST(ExpectedImprovement, IsTheMeanOfWhatIsGained) {
  for (const double median : {0.9, 1.0, 1.2}) {
    EXPECT_NEAR(expected_improvement({median, 0.1}, 1.0), improvement_by_sampling(median, 0.1, 1.0),
                1e-4);
  }
  EXPECT_DOUBLE_EQ(expected_improvement({0.75, 0}, 1.0), 0.25);
  EXPECT_DOUBLE_EQ(expected_improvement({1.25, 0}, 1.0), 0);
}

TEST(ExpectedImprovement, GrowsWithWhatIsNotKnown) {
  EXPECT_GT(expected_improvement({1.1, 0.2}, 1.0), expected_improvement({1.1, 0.1}, 1.0));
  EXPECT_GT(expected_improvement({1.1, 0.3}, 1.0), expected_improvement({1.02, 0.01}, 1.0));
}

// A plan whose step is all compute, which the profile prices `seconds`.
RunToLearn plan_of(double seconds, double band = 0.1) {
  RunToLearn run;
  run.file = run.name = "plan";
  run.price = [seconds, band](const Profile& p) {
    StepEstimate e;
    e.step = Seconds(seconds);
    if (p.learned) e.step = e.step * p.learned->constants[0].time_factor;
    e.parts[static_cast<std::size_t>(CostClass::gemm)] = e.step;
    e.relative_band = band;
    return e;
  };
  return run;
}

Profile some_profile() { return load_profile("h100-sxm-megatron"); }

TEST(TrialChoice, BeginsWithTheShortestPrediction) {
  const TrialChoice choice(some_profile(), {plan_of(2), plan_of(1), plan_of(3)});
  ASSERT_TRUE(choice.next());
  EXPECT_EQ(choice.next()->plan, 1u);
  EXPECT_FALSE(choice.best());
}

TEST(TrialChoice, PrefersWhatMayGainMore) {
  TrialChoice choice(some_profile(), {plan_of(1), plan_of(1.01, 0.01), plan_of(1.1, 0.6)});
  choice.started(0);
  EXPECT_EQ(choice.next()->plan, 2u);  // the prediction's order would take plan 1
}

TEST(TrialChoice, TriesNothingTwiceAndEnds) {
  TrialChoice choice(some_profile(), {plan_of(1), plan_of(1.1), plan_of(1.2)});
  choice.measured(0, 1.0);
  choice.failed(1);
  EXPECT_FALSE(choice.is_open(0));
  EXPECT_FALSE(choice.is_open(1));
  ASSERT_TRUE(choice.next());
  EXPECT_EQ(choice.next()->plan, 2u);
  choice.started(2);
  EXPECT_FALSE(choice.next());
  EXPECT_EQ(choice.best(), 0u);
}

TEST(TrialChoice, AllPlansMoveWhereTrialsAreFarOff) {
  TrialChoice choice(some_profile(), {plan_of(1), plan_of(1.1)});
  choice.measured(0, 50);
  EXPECT_NEAR(choice.outlook(1).seconds, 55, 1);
}

TEST(Replay, RandomChoiceIsTheMeanOverAllOrders) {
  const std::vector<double> regrets{0, 0.1, 0.4, 0.5};
  std::vector<std::size_t> order{0, 1, 2, 3};
  Regrets sum{};
  int orders = 0;
  do {
    double least = 1;
    for (std::size_t i = 0; i < kReplayTrials; ++i) {
      if (i < order.size()) least = std::min(least, regrets[order[i]]);
      sum[i] += least;
    }
    ++orders;
  } while (std::ranges::next_permutation(order).found);
  const Regrets random = random_regrets(regrets);
  for (std::size_t i = 0; i < kReplayTrials; ++i) EXPECT_NEAR(random[i], sum[i] / orders, 1e-12);
}

}  // namespace
}  // namespace pleat
