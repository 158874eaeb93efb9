// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The best layout of interleaved pipelines: against every layout of small ones.
#include "planner/layout/chunk_layouts.hpp"
#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/layout/every_layout.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;

// Of all layouts that need no more than `usable` of a GPU.
Seconds best_within(const RandomCase& c, const Plan& plan, std::int64_t usable) {
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
  Seconds best(1e9);
  test::for_each_layout(c, plan, [&](const Plan& tried) {
    const StepEstimate e = estimator(tried);
    if (e.peak_bytes() <= usable) best = std::min(best, e.step);
  });
  return best;
}

TEST(ChunkLayouts, FindTheBestOfAll) {
  CaseMaker maker(7);
  int pipelines = 0, every = 0, improved = 0, limited = 0, prediction = 0, paired = 0;
  for (int i = 0; i < 180; ++i) {
    RandomCase c = test::pipeline_case(maker, i);
    c.profile.sustained_clock.duty_slope = 0;  // layouts are compared at the burst clock
    c.cluster.host_memory = Bytes(0);
    SearchResult found;
    try {
      found = search(c, c.config);
    } catch (const ConfigError&) {
      continue;  // the case has no such pipeline
    }
    if (found.best.empty()) continue;
    const Candidate& from = found.best.front();
    // All the memory there is, and no more than the plan has.
    for (const std::int64_t usable : {std::int64_t{1} << 50, from.estimate.peak_bytes()}) {
      const FoundLayout best = best_chunk_layout(c, c.config,
                                                 {.usable = usable}, from);
      const Seconds least = best_within(c, from.plan, usable);
      EXPECT_LE(best.best.estimate.step, from.estimate.step);
      EXPECT_LE(best.best.estimate.peak_bytes(), usable);
      ++pipelines;
      every += best.every;
      if (best.every) {
        EXPECT_NEAR(best.best.estimate.step / least, 1, 1e-8) << summary(from.plan);
      } else {
        EXPECT_GE(best.best.estimate.step / least, 1 - 1e-12) << summary(from.plan);
      }
      improved += best.best.estimate.step < from.estimate.step;
      if (usable < std::int64_t{1} << 50) {
        limited += least > best_within(c, from.plan, std::int64_t{1} << 50);
      }
      prediction += c.model.mtp_layers > 0;
      paired += from.plan.overlap.expert_parallel;
    }
  }
  EXPECT_GT(pipelines, 40);
  EXPECT_GT(2 * every, pipelines) << every << " of " << pipelines;
  EXPECT_GT(improved, 10);
  EXPECT_GT(limited, 3);
  EXPECT_GT(prediction, 3);
  EXPECT_GT(paired, 3);
}

}  // namespace
}  // namespace pleat
