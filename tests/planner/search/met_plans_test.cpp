// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans that a search met, from which changes start.
#include "planner/search/met_plans.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "planner/search/search.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

// The value of the field that the plan was met for.
int value_of_field(const MetPlan& met) {
  int value = -1;
  for_each_met_field([&](auto row) {
    if (row == met.row) value = static_cast<int>(kPlanField<row>.in(met.plan));
  });
  return value;
}

// They fit, have the value they say, the fastest first, one for each value of a field; the best of
// the space is among them, and those with other values of fields mostly are.
TEST(MetPlans, AreOneForEachValueOfAField) {
  test::CaseMaker maker(23);
  int with_plan = 0, with_others = 0;
  for (int i = 0; i < 60; ++i) {
    const test::RandomCase c = maker.make(1500);
    if (c.config.numerics.size() != 1) continue;
    const SearchResult found = search(c, c.config);
    if (found.best.empty()) {
      EXPECT_TRUE(found.met.empty());
      continue;
    }
    ++with_plan;
    ASSERT_FALSE(found.met.empty());
    const Seconds best = value_of(found.best.front().estimate, c.config.robust);
    EXPECT_EQ(found.met.front().value, best);
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    std::set<std::pair<std::size_t, int>> values;
    Seconds before;
    bool others = false;
    for (const MetPlan& met : found.met) {
      SCOPED_TRACE(fmt::format("case {}: {}", i, summary(met.plan)));
      const StepEstimate estimate = estimator(met.plan);
      EXPECT_EQ(value_of(estimate, c.config.robust), met.value);
      EXPECT_LE(estimate.peak_bytes(), usable_bytes(c.cluster, c.config));
      EXPECT_GE(met.value, before);
      EXPECT_LE(met.value, best * 1.3);
      EXPECT_TRUE(values.emplace(met.row, value_of_field(met)).second);
      before = met.value;
      others = others || met.value > best;
    }
    with_others += others;
  }
  EXPECT_GE(with_plan, 20);
  EXPECT_GE(with_others, with_plan / 2);
}

}  // namespace
}  // namespace pleat
