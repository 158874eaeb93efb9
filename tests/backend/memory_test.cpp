// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The memory model against the allocator: the predicted peak of live bytes is the measured one, to
// the byte.
#include <gtest/gtest.h>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

Plan recomputing(Plan plan) {
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
          recomputing(fp32_plan(2, 2)),
          recomputing(fp32_plan(2, 2, 2)),
          test::tp_plan(2),
          test::tp_plan(4, 1, 2),
          test::tp_plan(2, 2, 4),
          recomputing(test::tp_plan(2, 1, 2, 2))};
}

void expect_peaks(const ModelSpec& model, const Plan& plan, const TrainConfig& config,
                  bool recorded) {
  const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  ASSERT_EQ(result.ranks.size(), static_cast<std::size_t>(plan.world()));
  const std::int64_t balanced = balanced_routed_tokens(model, test::small_workload(), plan);
  for (int r = 0; r < plan.world(); ++r) {
    const RankMeasurement& rank = result.ranks[static_cast<std::size_t>(r)];
    const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
    const RoutedCount routed = [&](MicroBatch m, LayerIndex l) {
      return recorded ? rank.routed.at({m.value, l.value}) : Binding{.routed = balanced};
    };
    EXPECT_EQ(rank.peak_live_bytes, peak_live_bytes(program.stages[stage], routed))
        << summary(plan) << " rank " << r;
  }
}

TEST(PeakMemory, IsPredictedToTheByteWithForcedRouting) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  for (const Plan& plan : plans()) {
    expect_peaks(test::small_moe(), plan, config, false);
    expect_peaks(test::small_mla(), plan, config, false);
  }
}

TEST(PeakMemory, IsPredictedToTheByteFromRecordedCounts) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  for (const Plan& plan : plans()) {
    expect_peaks(test::biased(test::small_moe()), plan, config, true);
  }
}

TEST(PeakMemory, RecomputeAndShardingSaveSome) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  const auto peak = [&](const Plan& plan) {
    return test::run(test::small_moe(), plan, config).ranks[0].peak_live_bytes;
  };
  EXPECT_LT(peak(recomputing(fp32_plan(1, 1, 2))), peak(fp32_plan(1, 1, 2)));
  Plan whole = fp32_plan(4, 2);
  whole.sharding = Sharding::none;
  EXPECT_LT(peak(fp32_plan(4, 2)), peak(whole));
}

}  // namespace
}  // namespace pleat
