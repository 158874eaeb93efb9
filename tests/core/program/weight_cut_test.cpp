// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parts of weights against whole ones, by hand.
#include "core/program/weight_cut.hpp"

#include <gtest/gtest.h>

namespace pleat {
namespace {

using Runs = std::vector<WeightRun>;

TEST(WeightCut, AWholeWeightIsOneRun) {
  EXPECT_EQ(runs_of({}, 3, 5, 0), (Runs{{0, 0, 15}}));
  EXPECT_EQ(whole_elements({}, 3, 5), 15);
  EXPECT_TRUE(copies_of({}, 3, 5).empty());
}

// Gate and up, six rows each, over two ranks: a part has three of both.
TEST(WeightCut, BandsAreDealtOutOneByOne) {
  const Cut cut{false, 2, {{6}, {6}}};
  EXPECT_EQ(whole_elements(cut, 6, 10), 120);
  EXPECT_EQ(runs_of(cut, 6, 10, 0), (Runs{{0, 0, 30}, {30, 60, 30}}));
  EXPECT_EQ(runs_of(cut, 6, 10, 1), (Runs{{0, 30, 30}, {30, 90, 30}}));
}

TEST(WeightCut, ColumnsAreOneRunARow) {
  const Cut cut{true, 2, {{6}}};
  EXPECT_EQ(whole_elements(cut, 2, 3), 12);
  EXPECT_EQ(runs_of(cut, 2, 3, 1), (Runs{{0, 3, 3}, {3, 9, 3}}));
}

// Five rows over four ranks: two each, the third rank has one, the fourth only padding.
TEST(WeightCut, WhatIsLeftIsPadding) {
  const Cut cut{false, 4, {{5}}};
  EXPECT_EQ(whole_elements(cut, 2, 1), 5);
  EXPECT_EQ(runs_of(cut, 2, 1, 1), (Runs{{0, 2, 2}}));
  EXPECT_EQ(runs_of(cut, 2, 1, 2), (Runs{{0, 4, 1}}));
  EXPECT_EQ(runs_of(cut, 2, 1, 3), Runs{});
}

// Eight query rows over four ranks; two key and two value rows, shared by two ranks each.
TEST(WeightCut, FewerPartsThanRanksAreShared) {
  const Cut cut{false, 4, {{8}, {2, 2}, {2, 2}}};
  EXPECT_EQ(whole_elements(cut, 4, 3), 36);
  EXPECT_EQ(runs_of(cut, 4, 3, 1), (Runs{{0, 6, 6}, {6, 24, 3}, {9, 30, 3}}));
  EXPECT_EQ(runs_of(cut, 4, 3, 2), (Runs{{0, 12, 6}, {6, 27, 3}, {9, 33, 3}}));
  EXPECT_EQ(copies_of(cut, 4, 3), (std::vector<Copies>{{6, 6, 2, true}}));
}

}  // namespace
}  // namespace pleat
