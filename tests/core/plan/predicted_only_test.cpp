// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/predicted_only.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat::test {
namespace {

using ::testing::HasSubstr;

Plan with_exchange(Dispatcher dispatcher) {
  Plan plan;
  plan.attention.dp = 8;
  plan.expert = {.etp = 1, .ep = 8, .edp = 1};
  plan.dispatcher = dispatcher;
  return plan;
}

TEST(PredictedOnly, TellsOfFusedAndHierarchicalExchanges) {
  for (const Dispatcher d : {Dispatcher::deepep, Dispatcher::hybridep, Dispatcher::hierarchical}) {
    const std::vector<PredictedOnly> told = predicted_only(with_exchange(d));
    ASSERT_EQ(told.size(), 1u) << name_of(d);
    EXPECT_STREQ(told.front().path, "plan.dispatcher");
    EXPECT_THAT(told.front().what, HasSubstr(name_of(d)));
  }
}

TEST(PredictedOnly, TellsNothingOfWhatRunsAsItIsPriced) {
  EXPECT_TRUE(predicted_only(with_exchange(Dispatcher::alltoall)).empty());
  EXPECT_TRUE(predicted_only(with_exchange(Dispatcher::allgather)).empty());
  Plan alone = with_exchange(Dispatcher::deepep);
  alone.expert = {.etp = 1, .ep = 1, .edp = 8};  // no exchange
  EXPECT_TRUE(predicted_only(alone).empty());
}

TEST(PredictedOnly, TellsOfExchangesTileByTile) {
  Plan plan = with_exchange(Dispatcher::alltoall);
  plan.overlap.tile_level = true;
  const std::vector<PredictedOnly> told = predicted_only(plan);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_STREQ(told.front().path, "plan.overlap.tile_level");
}

}  // namespace
}  // namespace pleat::test
