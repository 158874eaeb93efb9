// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pipelines whose ranks share cores: waiting ranks leave their share to the others.
#include <gtest/gtest.h>

#include "core/program/compile_stage.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/estimate.hpp"
#include "simulator/estimator.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat::test {
namespace {

constexpr double kNear = 1e-9;

ClusterSpec machine(int cores) {
  ClusterSpec c = round_cluster();
  c.gpus_per_node = 64;
  c.tiers = {{"memory", 0, BytesPerSecond(100e9), Seconds(0)}};
  c.shared_cores = cores;
  return c;
}

Plan pipeline(int pp, int dp, int ep = 1) {
  Plan p;
  p.attention = {.tp = 1, .cp = 1, .dp = dp, .pp = pp};
  p.expert = {.etp = 1, .ep = ep, .edp = dp / ep};
  p.precision = Precision::fp32;
  return p;
}

const WorkloadSpec kWorkload{.seq_len = 64, .global_batch = 8};

StepEstimate step(const Plan& plan, int cores) {
  const ClusterSpec c = machine(cores);
  return estimate(compile(small_model(), kWorkload, plan, Runtime::pleat), c, ideal_profile());
}

double busy_seconds(const StepEstimate& e, int ranks) {
  double sum = 0;
  for (const auto& stage : e.stages) sum += stage.busy.base();
  return sum * ranks / static_cast<double>(e.stages.size());
}

TEST(CoreSharing, WithoutAPipelineEveryRankAlwaysWorks) {
  const Plan plan = pipeline(1, 4);
  EXPECT_NEAR(step(plan, 2).step / step(plan, 4).step, 2, kNear);
}

TEST(CoreSharing, OneCoreRunsTheSumOfAllWork) {
  for (const Plan& plan : {pipeline(4, 1), pipeline(2, 2), pipeline(2, 4, 2)}) {
    const StepEstimate alone = step(plan, plan.world());
    EXPECT_NEAR(step(plan, 1).step / Seconds(busy_seconds(alone, plan.world())), 1, 1e-6)
        << summary(plan);
  }
}

TEST(CoreSharing, LiesBetweenTheWorkAndTheWorkWithBubbles) {
  const Plan plan = pipeline(4, 1);
  const StepEstimate alone = step(plan, 4), two = step(plan, 2);
  EXPECT_GE(two.step.base(), busy_seconds(alone, 4) / 2 * (1 - kNear));
  EXPECT_GT(two.step, alone.step);
  EXPECT_LT(two.step.base(), alone.step.base() * 2 * 0.95);  // 4 stages of 8 microbatches
  EXPECT_NEAR(total_of(two.parts), two.step.base(), kNear * two.step.base());
}

TEST(CoreSharing, MoreCoresThanRanksAreNoFaster) {
  const Plan plan = pipeline(2, 2);
  EXPECT_EQ(step(plan, 4).step, step(plan, 16).step);
}

TEST(CoreSharing, EstimatorAndTraceSayTheSame) {
  const Plan plan = pipeline(4, 1);
  const ClusterSpec c = machine(2);
  const Seconds one = step(plan, 2).step;
  EXPECT_NEAR(
      Estimator(small_model(), kWorkload, c, ideal_profile(), Runtime::pleat)(plan).step / one, 1,
      kNear);
  const Trace trace = predicted_trace(compile(small_model(), kWorkload, plan, Runtime::pleat), c,
                                      ideal_profile(), 8);
  EXPECT_NEAR(trace.step_s, one.base(), kNear * one.base());
  for (const Span& span : trace.spans) {
    EXPECT_GE(span.duration_s, 0);
    EXPECT_LE(span.start_s + span.duration_s, trace.step_s * (1 + kNear)) << to_text(span.key);
  }
}

// On a CPU a rank does one thing at a time: paired exchanges are not hidden.
TEST(CoreSharing, ARankRunsItsStreamsOneAfterTheOther) {
  Plan plan = pipeline(1, 4, 4);
  const double apart = step(plan, 4).step.base();
  plan.overlap.shared_expert = true;
  EXPECT_NEAR(step(plan, 4).step.base(), apart, kNear * apart);
}

}  // namespace
}  // namespace pleat::test
