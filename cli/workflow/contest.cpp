// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/contest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/report/output.hpp"
#include "cli/workflow/train_and_compare.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

TrainResult run_once(const Program& program, const TrainConfig& base, int steps) {
  TrainConfig config = base;
  config.steps = steps;
  config.trace = false;
  config.on_step = nullptr;
  return train(program, config);
}

}  // namespace

void run_contest(const ModelSpec& model, const WorkloadSpec& workload, const ContestConfig& config,
                 std::vector<Contender>& contenders) {
  std::vector<Program> programs;
  double measured = 0;
  for (Contender& c : contenders) {
    progress(fmt::format("memory of {}: {}", c.label, summary(c.plan)));
    programs.push_back(compile(model, workload, c.plan, Runtime::pleat));
    const TrainResult result = run_once(programs.back(), config.train, 1);
    c.measured_bytes = measured_peak(result);
    c.recorded_bytes = recorded_peak(programs.back(), result);
    measured += result.steps.front().seconds;
  }
  // Every run warms up with one step, which does not count.
  const double affordable = config.seconds / (config.rounds * std::max(measured, 1e-6)) - 1;
  const int steps = 1 + std::clamp(static_cast<int>(affordable), 2, 15);
  for (int round = 0; round < config.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      progress(fmt::format("round {} of {}: {}", round + 1, config.rounds, contenders[i].label));
      const TrainResult result = run_once(programs[i], config.train, steps);
      contenders[i].medians.push_back(median_step(result.steps).base());
    }
  }
  progress("");
}

Seconds measured_step(const Contender& c) { return Seconds(median(c.medians)); }

double round_spread(const Contender& c) {
  const auto [low, high] = std::minmax_element(c.medians.begin(), c.medians.end());
  return (*high - *low) / median(c.medians);
}

}  // namespace pleat::cli
