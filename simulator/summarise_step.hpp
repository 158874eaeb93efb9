// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From a step's timeline to the estimate that is printed.
#pragma once

#include "simulator/estimate.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {

// What throughput and utilisation are counted from.
struct StepWork {
  std::int64_t tokens = 0;  // of a step, whole job
  int ranks = 1;
  Flops per_token;          // of the model
  FlopsPerSecond peak;      // of a GPU; zero: unknown
  double straggler_slowdown = 0;  // the workload's
};
[[nodiscard]] StepWork step_work(Flops per_token, const WorkloadSpec&, const Plan&,
                                 const ClusterSpec&);

// The timeline has its starts where ranks leave cores to others (core_sharing.hpp).
[[nodiscard]] StepEstimate summarise(const StageRecords&, const ScheduleTable&,
                                     const StepTimeline&, const StepWork&, const ClusterSpec&,
                                     const Profile&);

// The clock the step leaves the matrix units, over that of a short burst: the busier they are, the
// lower (duty_clock, core/spec/run_constants.hpp). `burst` is the step at full clock; lower clocks
// stretch its matrix time. In steps of 1 / kClockSteps.
inline constexpr int kClockSteps = 1024;
[[nodiscard]] int sustained_clock(const SustainedClock&, const StepEstimate& burst);
[[nodiscard]] Profile at_clock(const Profile&, int clock);

}  // namespace pleat
