// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layers moved between stages: against every layout of small pipelines.
#include "planner/layout/layout_polish.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/layout/layout_bound.hpp"
#include "planner/search/search.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/layout/every_layout.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;

// The fastest of all ways to place the decoder layers that fit.
Seconds best_of_all_layouts(const RandomCase& c, const Plan& plan) {
  const std::int64_t usable = usable_bytes(c.cluster, c.config);
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
  Seconds best{1e9};
  test::for_each_decoder_layout(c, plan, [&](const Plan& tried) {
    const StepEstimate e = estimator(tried);
    if (e.peak_bytes() <= usable) best = std::min(best, e.step);
  });
  return best;
}

// Pipelines with room for any layout, and a head that weighs as much as layers.
RandomCase make_pipeline(CaseMaker& maker, int listed) {
  RandomCase c = maker.make(800);
  c.config.robust = false;
  c.config.top = listed;
  c.config.numerics.resize(1);
  c.config.pin<"schedule">() = {PipelineSchedule::one_f_one_b};
  c.model.vocab = 32768;
  c.cluster.gpu.memory = Bytes(1e15);
  return c;
}

// None if the case has no valid plan with its pins.
SearchResult found_for(const RandomCase& c) {
  try {
    return search(c, c.config);
  } catch (const ConfigError&) {
    return {};
  }
}

TEST(LayoutPolish, ComesCloseToTheBestLayoutAndIsNeverWorse) {
  CaseMaker maker(23);
  int pipelines = 0, improved = 0, best = 0;
  double tightest = 0;
  int below = 0;  // what was proven for the space's layouts
  int every = 0, best_within = 0, less_within = 0;
  for (int i = 0; i < 100; ++i) {
    RandomCase c = make_pipeline(maker, 3);
    c.config.pin<"pp">() = {2, 4};
    c.config.pin<"vpp">() = {1};
    if (i % 4 == 3) {  // a V, whose second chunks lie the other way round
      c.config.pin<"pp">() = {2};
      c.config.pin<"vpp">() = {2};
      c.config.pin<"schedule">() = {PipelineSchedule::zb_v};
    }
    const SearchResult found = found_for(c);
    if (found.best.empty()) continue;
    SearchResult polished = found;
    polish_layouts(c, c.config, polished);
    EXPECT_LE(polished.bound, polished.best.front().estimate.step);
    below += polished.best.front().estimate.step < found.bound;
    for (const Candidate& before : found.best) {
      const FoundLayout polished_one =
          polish_layout(c, c.config, before);
      const Candidate& after = polished_one.best;
      EXPECT_LE(after.estimate.step, before.estimate.step);
      EXPECT_TRUE(violations({c.model, c.workload, after.plan, c.config.gpus}).empty());
      const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
      EXPECT_EQ(estimator(after.plan).step.base(), after.estimate.step.base());
      const Seconds least = best_of_all_layouts(c, before.plan);
      const Seconds bound =
          layout_bound(c, c.config, before.plan).least;
      EXPECT_LE(bound.base(), least.base() * (1 + 1e-9)) << summary(before.plan);
      tightest = std::max(tightest, bound / least);
      EXPECT_LE(after.estimate.step.base(), 1.05 * least.base()) << summary(after.plan);
      ++pipelines;
      improved += after.estimate.step < before.estimate.step;
      best += after.estimate.step.base() <= least.base() * (1 + 1e-9);
      EXPECT_EQ(polished_one.every, c.config.pin<"schedule">().only(PipelineSchedule::one_f_one_b));
      every += polished_one.every;

      // With no more memory than the plan has.
      RandomCase tight = c;
      tight.config.most_bytes = before.estimate.peak_bytes();
      const Candidate within =
          polish_layout(c, tight.config, before).best;
      EXPECT_LE(within.estimate.peak_bytes(), before.estimate.peak_bytes());
      EXPECT_LE(within.estimate.step.base(), 1.05 * best_of_all_layouts(tight, before.plan).base());
      best_within += within.estimate.step.base() <=
                     best_of_all_layouts(tight, before.plan).base() * (1 + 1e-9);
      less_within += within.estimate.step > after.estimate.step;
    }
  }
  EXPECT_GT(pipelines, 20);
  EXPECT_GT(improved, 0);
  EXPECT_GT(below, 0);
  EXPECT_GT(tightest, 0.95);
  EXPECT_GT(every, 20);
  EXPECT_GT(less_within, 0);
  EXPECT_GE(20 * best, 19 * pipelines) << best << " of " << pipelines;
  EXPECT_GE(20 * best_within, 19 * pipelines) << best_within << " of " << pipelines;
}

// Ranks with several chunks, with room for any layout and with no more memory than the plan has.
TEST(LayoutPolish, InterleavedPipelinesComeClose) {
  CaseMaker maker(31);
  int pipelines = 0, best = 0;
  for (int i = 0; i < 60; ++i) {
    RandomCase c = make_pipeline(maker, 2);
    c.config.pin<"pp">() = {2};
    c.config.pin<"vpp">() = {2, 3};
    const SearchResult found = found_for(c);
    for (const Candidate& before : found.best) {
      for (const bool tight : {false, true}) {
        if (tight) c.config.most_bytes = before.estimate.peak_bytes();
        const Seconds least = best_of_all_layouts(c, before.plan);
        const Candidate after = polish_layout(c, c.config, before).best;
        EXPECT_LE(after.estimate.peak_bytes(), usable_bytes(c.cluster, c.config));
        EXPECT_LE(after.estimate.step.base(), 1.02 * least.base()) << summary(after.plan);
        ++pipelines;
        best += after.estimate.step.base() <= least.base() * (1 + 1e-9);
      }
      c.config.most_bytes.reset();
    }
  }
  EXPECT_GT(pipelines, 20);
  EXPECT_GE(20 * best, 19 * pipelines) << best << " of " << pipelines;
}

}  // namespace
}  // namespace pleat
