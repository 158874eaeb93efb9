// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A whole step from the records of its stages, and the estimate made from it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "simulator/estimate.hpp"
#include "simulator/schedule_table.hpp"
#include "simulator/stage_record.hpp"

namespace pleat {

// A whole step put together from the records of its stages: what estimate() summarises and
// predicted_trace() draws.

using StageRecords = std::vector<std::shared_ptr<const StageRecord>>;  // by stage; may repeat

// Prices every stage of a compiled program. Stages with the same layers share nothing here.
[[nodiscard]] StageRecords record_stages(const Program&, const ClusterView&, const Profile&);

[[nodiscard]] ScheduleTable table_of(const Program&);

struct StepTimeline {
  TableTiming pipeline;
  std::vector<Seconds> prologue; // by stage
  StepEnd step_end;
};

// Time of everything a stage's slots run, [stage][table.kinds()].
[[nodiscard]] std::vector<Seconds> slot_durations(const StageRecords&, const ScheduleTable&);

// Prologue, pipeline and epilogue of one step. With `keep_starts` the starts of slots and step ops.
// What is wanted of a step.
enum class StepDetail {
  duty,   // its time and the work in it, for the clock: neither memory nor what waits for transfers
  whole,  // all
};
[[nodiscard]] StepTimeline run_step(const StageRecords&, const ScheduleTable&,
                                    bool keep_starts = false,
                                    StepDetail detail = StepDetail::whole);

// From a step's timeline to the estimate that is printed.

// What throughput and utilisation are counted from.
struct StepWork {
  std::int64_t tokens = 0;  // of a step, whole job
  int ranks = 1;
  Flops per_token;          // of the model
  FlopsPerSecond peak;      // of a GPU in bf16 (fp32 plans: fp32); zero: unknown
  FlopsPerSecond product_peak;  // the same in the format of `products`
  DType products = DType::bf16;
  double slowest_excess = 0;  // of the function below
};
[[nodiscard]] StepWork step_work(Flops per_token, const WorkloadSpec&, const Plan&,
                                 const ClusterSpec&, const RunConstants&);

// What the slowest rank's slots take longer than the mean, as a share: what the workload says, and
// the slowest of the hosts. The largest of n delays with an exponential tail grows by ln n
// (docs/MODEL.md section 9).
[[nodiscard]] double slowest_excess(const WorkloadSpec&, const RunConstants&, const ClusterSpec&,
                                    int gpus);

// The timeline has its starts where ranks leave cores to others (core_sharing.hpp).
[[nodiscard]] StepEstimate summarise(const StageRecords&, const ScheduleTable&,
                                     const StepTimeline&, const StepWork&, const ClusterSpec&,
                                     const Profile&, StepDetail detail = StepDetail::whole);

// The clock the step leaves the matrix units, over that of a short burst: the busier they are, the
// lower (duty_clock, core/spec/run_constants.hpp). `burst` is the step at full clock, of which
// `step` and `matrix` are read; lower clocks stretch its matrix time. One clock for all stages:
// that of the stage whose matrix units are busiest. In steps of 1 / kClockSteps.
inline constexpr int kClockSteps = 1024;
[[nodiscard]] int sustained_clock(const SustainedClock&, const StepEstimate& burst);
[[nodiscard]] Profile at_clock(const Profile&, int clock);

}  // namespace pleat
