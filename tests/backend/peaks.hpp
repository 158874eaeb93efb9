// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A run's highest live bytes on every rank, against those that the memory model predicts.
#pragma once

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat::test {

// `recorded`: puts in the counts of the run's last step, else those of balanced routing.
inline void expect_peaks(const ModelSpec& model, const Plan& plan, const TrainConfig& config,
                  bool recorded, const WorkloadSpec& workload = small_workload()) {
  const Program program = compile(model, workload, plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  ASSERT_EQ(result.ranks.size(), static_cast<std::size_t>(plan.world()));
  const std::int64_t balanced = balanced_routed_tokens(model, workload, plan);
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

}  // namespace pleat::test
