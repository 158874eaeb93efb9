// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The planner's door: each goal is what its parts find.
#include "planner/plan.hpp"

#include <gtest/gtest.h>

#include "planner/layout/layout_polish.hpp"
#include "planner/neighbours/neighbours.hpp"
#include "planner/search/search.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat::test {
namespace {

TEST(Plan, ThroughputIsTheSearchWithBetterLayouts) {
  const Problem problem = small_problem();
  const PlanRequest request{.search = small_search(8)};
  const PlanAnswer answer = plan(problem, request);
  SearchResult expected = search(problem, request.search);
  polish_layouts(problem, request.search, expected);
  try_neighbours(problem, request.search, expected);
  ASSERT_EQ(answer.result.best.size(), expected.best.size());
  for (std::size_t i = 0; i < expected.best.size(); ++i) {
    EXPECT_EQ(answer.result.best[i].plan, expected.best[i].plan) << i;
  }
  EXPECT_EQ(answer.result.rejected, expected.rejected);
  EXPECT_EQ(answer.result.bound, expected.bound);
  EXPECT_TRUE(answer.result.optimal);
  EXPECT_TRUE(answer.sizes.empty());
  EXPECT_FALSE(answer.front.has_value());
}

TEST(Plan, CostIsOfTheCheapestSizeAndProvenOverAll) {
  const PlanRequest request{.search = small_search(8), .goal = PlanGoal::cost, .fewest_gpus = 2};
  const PlanAnswer answer = plan(small_problem(), request);
  ASSERT_EQ(answer.sizes.size(), 3U);  // 8, 4, 2
  const SizeResult* cheapest = cheapest_size(answer.sizes, false);
  ASSERT_NE(cheapest, nullptr);
  EXPECT_EQ(answer.search.gpus, cheapest->gpus);
  EXPECT_EQ(answer.result.best.front().plan, cheapest->result.best.front().plan);
  EXPECT_EQ(answer.result.objective, Objective::gpu_time);
}

TEST(Plan, HeadroomIsTheEndOfTheFront) {
  const PlanRequest request{
      .search = small_search(8), .goal = PlanGoal::memory_headroom, .slack = 0.5};
  const PlanAnswer answer = plan(small_problem(), request);
  ASSERT_TRUE(answer.front.has_value());
  const Candidate& last = answer.front->plans.back();
  EXPECT_LE(answer.result.best.front().estimate.peak_bytes(), last.estimate.peak_bytes());
  ASSERT_TRUE(answer.search.most_bytes.has_value());
  for (const Candidate& c : answer.result.best) {
    EXPECT_LE(c.estimate.peak_bytes(), *answer.search.most_bytes);
  }
  EXPECT_LE(last.estimate.step, answer.front->plans.front().estimate.step * 1.5);
}

TEST(Plan, AFrontIsThereWhereItIsAskedFor) {
  const PlanRequest request{.search = small_search(8), .front = true};
  const PlanAnswer answer = plan(small_problem(), request);
  ASSERT_TRUE(answer.front.has_value());
  EXPECT_EQ(answer.front->plans.front().plan, answer.result.best.front().plan);
}

// The clock, the count and the best plan go one way from the first search to the last change.
TEST(Plan, ProgressIsOfTheWholeAnswer) {
  std::vector<SearchProgress> told;
  PlanRequest request{.search = small_search(8)};
  request.search.pin<"recompute-layers">() = {0};
  request.search.progress = [&](const SearchProgress& p) {
    told.push_back(p);
    return true;
  };
  const PlanAnswer answer = plan(small_problem(), request);
  ASSERT_GT(told.size(), 2U);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].seconds, told[i - 1].seconds) << i;
    EXPECT_GE(told[i].priced, told[i - 1].priced) << i;
    EXPECT_GE(told[i].changes, told[i - 1].changes) << i;
    EXPECT_TRUE(!told[i].changes || told[i].bound == Seconds{}) << i;
    EXPECT_TRUE(!told[i - 1].best || *told[i].best <= *told[i - 1].best) << i;
  }
  EXPECT_FALSE(told.front().changes);
  EXPECT_TRUE(told.back().changes);
  EXPECT_GE(answer.result.seconds, told.back().seconds);
}

// The limit is of all sizes together, and of the changes of their plans.
TEST(Plan, SizesShareTheLimitOfEstimates) {
  PlanRequest request{.search = small_search(8), .goal = PlanGoal::cost, .fewest_gpus = 2};
  std::int64_t whole = 0;
  for (const SizeResult& s : plan(small_problem(), request).sizes) whole += s.result.priced;
  request.search.max_evaluations = whole / 2;
  std::int64_t half = 0;
  for (const SizeResult& s : plan(small_problem(), request).sizes) half += s.result.priced;
  EXPECT_LE(half, whole / 2 + 3);  // each size is allowed one
}

// A longer list has the same best plan: what is asked beside the answer does not change it.
TEST(Plan, MoreRankedPlansLeaveTheBestOne) {
  const Problem problem = small_problem();
  for (const int gpus : {4, 8}) {
    PlanRequest request{.search = small_search(gpus)};
    request.search.certain = 1;
    const PlanAnswer brief = plan(problem, request);
    request.ranked = 12;
    const PlanAnswer whole = plan(problem, request);
    EXPECT_EQ(whole.result.best.front().plan, brief.result.best.front().plan);
    EXPECT_EQ(whole.result.neighbours->tried, brief.result.neighbours->tried);
    EXPECT_EQ(whole.result.best.size(), 12U);
    EXPECT_TRUE(whole.result.optimal);
    EXPECT_EQ(whole.search.top, 12);
    std::int64_t counted = static_cast<std::int64_t>(whole.result.best.size());
    for (const auto& [rule, plans] : whole.result.rejected) counted += plans;
    EXPECT_EQ(counted, whole.result.enumerated);
  }
}

TEST(SearchResult, ThoseBeyondTheListCountAsSlower) {
  SearchResult result = search(small_problem(), small_search(8));
  const auto listed = static_cast<std::int64_t>(result.best.size());
  ASSERT_GT(listed, 1);
  const std::int64_t slower = result.rejected["slower"];
  keep_first(1, result);
  EXPECT_EQ(result.best.size(), 1U);
  EXPECT_EQ(result.rejected["slower"], slower + listed - 1);
}

}  // namespace
}  // namespace pleat::test
