// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans that are priced outside of a search's tree, to have good ones early.
#include "planner/search/good_plans.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "planner/search/search.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

std::vector<GoodPlan> good_of(const test::RandomCase& c, const PlanTree& tree, int threads,
                              bool closer) {
  const std::int64_t usable = usable_bytes(c.cluster, c.config);
  PlanPrices prices(c, c.config.runtime);
  NodeOpener opener(tree, prices, c.cluster, usable);
  Workers workers(threads);
  GoodPlans plans(tree, opener, workers, usable, 5);
  plans.look();
  if (closer) plans.look_closer([] { return true; });
  EXPECT_GE(plans.priced(), static_cast<std::int64_t>(plans.found().size()));
  return plans.found();
}

// They are legal plans of the space that fit, one of each mesh, the fastest first; none is faster
// than the best one, and the first is mostly near it, and mostly the best after a closer look.
TEST(GoodPlans, AreOfTheSpaceAndFit) {
  test::CaseMaker maker(17);
  int with_plan = 0, found = 0, near = 0, best_found = 0;
  for (int i = 0; i < 60; ++i) {
    const test::RandomCase c = maker.make(1500);
    if (c.config.numerics.size() != 1) continue;
    const SearchResult all = search(c, c.config);
    if (all.best.empty()) continue;
    ++with_plan;
    const Seconds best = value_of(all.best.front().estimate, c.config.robust);
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    const PlanTree tree(c, c.config);
    const std::vector<GoodPlan> first = good_of(c, tree, 1, false);
    const std::vector<GoodPlan> good = good_of(c, tree, 1, true), again = good_of(c, tree, 2, true);
    ASSERT_EQ(good.size(), again.size());
    Seconds before;
    for (std::size_t g = 0; g < good.size(); ++g) {
      const Plan plan = tree.plan_of(good[g].node);
      SCOPED_TRACE(fmt::format("case {}: {}", i, summary(plan)));
      EXPECT_EQ(tree.plan_of(again[g].node), plan);
      EXPECT_EQ(tree.broken_rule(plan), nullptr);
      EXPECT_EQ(estimator(plan).step, good[g].estimate.step);
      EXPECT_LE(good[g].estimate.peak_bytes(), usable_bytes(c.cluster, c.config));
      const Seconds value = value_of(good[g].estimate, c.config.robust);
      EXPECT_GE(value, before);
      EXPECT_GE(value.base(), best.base() * (1 - 1e-9));
      before = value;
      for (std::size_t h = 0; h < g; ++h) {
        EXPECT_FALSE(tree.same_mesh(good[g].node, good[h].node));
      }
    }
    if (good.empty()) continue;
    const auto value = [&](const GoodPlan& g) { return value_of(g.estimate, c.config.robust); };
    best_found += value(good.front()) <= best * (1 + 1e-9) ? 1 : 0;
    if (first.empty()) continue;
    EXPECT_LE(value(good.front()), value(first.front()));
    ++found;
    near += value(first.front()) <= best * 1.03 ? 1 : 0;
  }
  RecordProperty("with_plan", with_plan);
  RecordProperty("found", found);
  RecordProperty("near", near);
  RecordProperty("best_found", best_found);
  EXPECT_GT(with_plan, 20);
  EXPECT_GE(found * 10, with_plan * 8);
  EXPECT_GE(near * 10, found * 7);
  EXPECT_GE(best_found * 10, with_plan * 7);
}

}  // namespace
}  // namespace pleat
