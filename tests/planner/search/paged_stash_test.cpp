// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Why a search does not choose a paged stash: with room for what routing sends it saves nothing.
#include <gtest/gtest.h>

#include "core/spec/expert_load.hpp"
#include "tests/planner/search/priced_space.hpp"

namespace pleat {
namespace {

using namespace test;

// Of the layer where the busiest rank has most.
double most_rows(const RandomCase& c, const Plan& plan) {
  double most = 1;
  for (int l = 0; l <= c.model.layers + c.model.mtp_layers; ++l) {
    const int loads = loads_of_layer(c.workload, c.model, l);
    most = std::max(most, rank_imbalance(c.workload, *c.model.moe, loads, plan.expert.ep));
  }
  return most;
}

TEST(PagedStash, ThatHoldsWhatRoutingSendsSavesNothing) {
  CaseMaker maker(11);
  int stashed = 0, larger = 0;
  for (int i = 0; i < 30; ++i) {
    RandomCase c = maker.make(300);
    if (!c.model.moe || c.workload.capacity_factor > 0) continue;
    c.config.paged_stash = {};
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    for (const Priced& p : price_all(c)) {
      Plan plan = p.at.plan;
      const double most = most_rows(c, plan);
      plan.paged_stash = {.buffer = most + 0.1, .capacity = most + 0.2};
      const PlanContext context{c.model, c.workload, plan, c.config.gpus};
      const bool valid = std::ranges::all_of(
          constraints(), [&](const Constraint& rule) { return rule.holds(context); });
      if (!valid) continue;
      const StepEstimate with = estimator(plan);
      EXPECT_DOUBLE_EQ(with.step.base(), p.estimate.step.base()) << summary(plan);
      EXPECT_GE(with.peak_bytes(), p.estimate.peak_bytes()) << summary(plan);
      ++stashed;
      larger += with.peak_bytes() > p.estimate.peak_bytes();
    }
  }
  EXPECT_GT(stashed, 300);
  EXPECT_GT(larger, 100);
}

}  // namespace
}  // namespace pleat
