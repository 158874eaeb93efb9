// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Statistics of the validation report, by hand.
#include "validation/comparison.hpp"

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Statistics, QuantilesAreLinearBetweenValues) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(quantile({5, 1, 2, 4, 3}, 0.9), 4.6);  // place 3.6 of 1 2 3 4 5
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(Statistics, ErrorsBySizeAndTheBiasSigned) {
  const ErrorSummary s = summarise({-0.3, 0.1, -0.2, 0.4, -0.1});
  EXPECT_EQ(s.count, 5u);
  EXPECT_DOUBLE_EQ(s.median, 0.2);  // 0.1 0.1 0.2 0.3 0.4
  EXPECT_DOUBLE_EQ(s.p90, 0.36);
  EXPECT_DOUBLE_EQ(s.mean, 0.22);
  EXPECT_DOUBLE_EQ(s.worst, 0.4);
  EXPECT_DOUBLE_EQ(s.bias, -0.1);  // -0.3 -0.2 -0.1 0.1 0.4
  EXPECT_EQ(summarise({}), ErrorSummary{});
}

TEST(Statistics, RegretIsTheTimeLostByTheLayoutPredictedBest) {
  // Predicted best is the second, which took 12; the best took 10.
  EXPECT_NEAR(regret({{10, 5}, {12, 4}, {20, 6}}), 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(regret({{10, 4}, {12, 5}}), 0);
  EXPECT_DOUBLE_EQ(regret({{10, 4}}), 0);
}

TEST(Statistics, ConcordanceCountsPairs) {
  // Measured 1 < 2 < 3, predicted 1, 3, 2: of three pairs the last is the wrong way round.
  const PairCount c = concordance({{1, 1}, {2, 3}, {3, 2}});
  EXPECT_EQ(c.pairs, 3u);
  EXPECT_DOUBLE_EQ(c.same_order, 2);
  // Equal predictions are half right; equal measurements are no pair.
  EXPECT_DOUBLE_EQ(concordance({{1, 5}, {2, 5}}).same_order, 0.5);
  EXPECT_EQ(concordance({{1, 1}, {1, 2}}).pairs, 0u);
  EXPECT_EQ(concordance({}).pairs, 0u);
}

}  // namespace
}  // namespace pleat
