// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans race: the winner, one clearly slower, one more, all different.
#include <gtest/gtest.h>

#include "cli/workflow/contest.hpp"

namespace pleat::cli {
namespace {

Candidate candidate(int pp, int ep, int micro_batch, double seconds) {
  Candidate c;
  c.plan.attention = {.tp = 1, .cp = 1, .dp = 4 / pp, .pp = pp};
  c.plan.expert = {.etp = 1, .ep = ep, .edp = 4 / pp / ep};
  c.plan.micro_batch = micro_batch;
  c.estimate.step = Seconds(seconds);
  return c;
}

TEST(Contenders, OneIsClearlySlowerAndGridsDiffer) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 2, 1.00), candidate(1, 4, 4, 1.05), candidate(1, 2, 2, 1.10),
       candidate(1, 4, 1, 1.25), candidate(2, 2, 1, 1.30)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[0].label, "winner");
  EXPECT_EQ(chosen[0].predicted.step, Seconds(1.00));
  EXPECT_EQ(chosen[1].label, "loser 1");
  EXPECT_EQ(chosen[1].predicted.step, Seconds(1.10));  // the close one on another grid
  EXPECT_EQ(chosen[2].predicted.step, Seconds(1.30));  // not 1.25, which is the winner's grid
}

TEST(Contenders, ExactlyTheThresholdIsNotClearlySlower) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 1, 1.0), candidate(1, 2, 1, 1.2), candidate(2, 2, 1, 1.2000001)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[2].predicted.step, Seconds(1.2000001));
}

TEST(Contenders, FarBehindIsPreferredToJustBehind) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 1, 1.0), candidate(2, 1, 1, 1.1), candidate(1, 2, 1, 1.25), candidate(4, 1, 1, 1.6)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[1].predicted.step, Seconds(1.1));
  EXPECT_EQ(chosen[2].predicted.step, Seconds(1.6));
}

TEST(Contenders, TwoClearLosersWhenNobodyIsClose) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 1, 1.0), candidate(1, 2, 1, 1.5), candidate(2, 2, 1, 2.0)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[1].predicted.step, Seconds(1.5));
  EXPECT_EQ(chosen[2].predicted.step, Seconds(2.0));
}

TEST(Contenders, ShadesOfOneGridRaceWhenThereIsNoOther) {
  const std::vector<Contender> chosen =
      choose_contenders({candidate(1, 4, 4, 1.0), candidate(1, 4, 1, 1.4)});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[1].plan.micro_batch, 1);
}

TEST(Contenders, AloneWhenThereIsOnePlan) {
  EXPECT_EQ(choose_contenders({candidate(1, 1, 1, 1.0)}).size(), 1u);
}

}  // namespace
}  // namespace pleat::cli
