// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/measured_run.hpp"

#include <algorithm>

#include "core/median.hpp"
#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

std::int64_t measured_peak(const TrainResult& result) {
  std::int64_t most = 0;
  for (const RankMeasurement& rank : result.ranks) most = std::max(most, rank.peak_live_bytes);
  return most;
}

std::int64_t measured_host_peak(const TrainResult& result) {
  std::int64_t most = 0;
  for (const RankMeasurement& rank : result.ranks) most = std::max(most, rank.peak_host_bytes);
  return most;
}

RoutedCount recorded_routing(const RankMeasurement& rank) {
  return [&routed = rank.routed](MicroBatch m, LayerIndex l) {
    const auto found = routed.find({m.value, l.value});
    return found == routed.end() ? Binding{} : found->second;
  };
}

std::int64_t recorded_peak(const Program& program, const TrainResult& result, bool host) {
  std::int64_t most = 0;
  for (std::size_t r = 0; r < result.ranks.size(); ++r) {
    const int stage = attention_coordinates(program.plan, Rank{static_cast<int>(r)}).pp;
    const RoutedCount count = recorded_routing(result.ranks[r]);
    const StageProgram& of_rank = program.stages[static_cast<std::size_t>(stage)];
    most = std::max(most, host ? peak_host_bytes(of_rank, count) : peak_live_bytes(of_rank, count));
  }
  return most;
}

Seconds median_step(const std::vector<StepRecord>& steps) {
  std::vector<double> seconds;
  for (std::size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) {
    seconds.push_back(steps[i].seconds);
  }
  return Seconds(median(std::move(seconds)));
}

}  // namespace pleat
