// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The memory model against the allocator: the predicted peak of live bytes is the measured one, to
// the byte.
#include <gtest/gtest.h>

#include "tests/backend/peaks.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

Plan recomputing_experts(Plan plan) {
  plan.recompute = {Module::moe_act};
  return plan;
}

std::vector<Plan> plans() {
  return {fp32_plan(),
          fp32_plan(2),
          fp32_plan(2, 2),
          fp32_plan(4, 4),
          fp32_plan(4, 2),
          fp32_plan(1, 1, 2),
          fp32_plan(2, 2, 2),
          fp32_plan(1, 1, 4),
          recomputing_experts(fp32_plan(2, 2)),
          recomputing_experts(fp32_plan(2, 2, 2)),
          test::tp_plan(2),
          test::tp_plan(4, 1, 2),
          test::tp_plan(2, 2, 4),
          recomputing_experts(test::tp_plan(2, 1, 2, 2))};
}

TEST(PeakMemory, IsPredictedToTheByteWithForcedRouting) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  for (const Plan& plan : plans()) {
    test::expect_peaks(test::small_moe(), plan, config, false);
    test::expect_peaks(test::small_mla(), plan, config, false);
  }
}

TEST(PeakMemory, IsPredictedToTheByteFromRecordedCounts) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  for (const Plan& plan : plans()) {
    test::expect_peaks(test::biased(test::small_moe()), plan, config, true);
  }
}

TEST(PeakMemory, RecomputeAndShardingSaveSome) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const auto peak = [&](const Plan& plan) {
    return test::run(test::small_moe(), plan, config).ranks[0].peak_live_bytes;
  };
  EXPECT_LT(peak(recomputing_experts(fp32_plan(1, 1, 2))), peak(fp32_plan(1, 1, 2)));
  Plan whole = fp32_plan(4, 2);
  whole.sharding = Sharding::none;
  EXPECT_LT(peak(fp32_plan(4, 2)), peak(whole));
}

}  // namespace
}  // namespace pleat
