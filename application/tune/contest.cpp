// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/contest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "application/training/measured_run.hpp"
#include "application/training/recorded_routing.hpp"
#include "application/tune/machine_load.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/median.hpp"
#include "simulator/estimate.hpp"

namespace pleat {
namespace {

struct Run {
  TrainResult result;
  double worked = 0;  // core-seconds of a step
};

Run run_once(const Program& program, const TrainConfig& base, int steps) {
  TrainConfig config = base;
  config.steps = steps;
  config.trace = false;
  std::vector<double> worked;
  double before = 0;
  config.on_step = [&](int step, const StepRecord&) {
    const double now = process_seconds();
    if (step > 0) worked.push_back(now - before);
    before = now;
  };
  Run run{.result = train(program, config)};
  if (!worked.empty()) run.worked = median(std::move(worked));
  return run;
}

Seconds step_with_imbalance(const Target& target, const Contender& c) {
  WorkloadSpec workload = target.workload;
  workload.imbalance = c.imbalance;
  const Program program = compile(target.model, workload, c.plan, Runtime::pleat);
  return estimate(program, target.cluster, target.profile).step;
}

}  // namespace

void run_contest(const Target& target, const ContestConfig& config,
                 std::vector<Contender>& contenders) {
  std::vector<Program> programs;
  double measured = 0;
  for (Contender& c : contenders) {
    progress(fmt::format("memory of {}: {}", c.label, summary(c.plan)));
    programs.push_back(compile(target.model, target.workload, c.plan, Runtime::pleat));
    const TrainResult result = run_once(programs.back(), config.train, 1).result;
    c.measured_bytes = measured_peak(result);
    c.recorded_bytes = recorded_peak(programs.back(), result);
    measured += result.steps.front().seconds;
  }
  // Every run warms up with one step, which does not count.
  const double affordable = config.seconds / (config.rounds * std::max(measured, 1e-6)) - 1;
  const int steps = 1 + std::clamp(static_cast<int>(affordable), 2, kMostContestSteps - 1);
  for (int round = 0; round < config.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      progress(fmt::format("round {} of {}: {}", round + 1, config.rounds, contenders[i].label));
      const Run run = run_once(programs[i], config.train, steps);
      contenders[i].imbalance = recorded_imbalance(programs[i], run.result);
      contenders[i].medians.push_back(median_step(run.result.steps).base());
      contenders[i].worked.push_back(run.worked);
    }
  }
  progress("");
  for (Contender& c : contenders) c.recorded_step = step_with_imbalance(target, c);
}

}  // namespace pleat
