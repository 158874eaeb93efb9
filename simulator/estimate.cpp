// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The estimate of a compiled program, every layer priced anew. The estimator gives the same and
// remembers.
#include "simulator/estimate.hpp"

#include <algorithm>

#include "simulator/core_sharing.hpp"
#include "simulator/step_timeline.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {

const StageMemory& StepEstimate::fullest_stage() const {
  return *std::ranges::max_element(memory, {}, &StageMemory::peak);
}
std::int64_t StepEstimate::peak_bytes() const {
  std::int64_t peak = 0;
  for (const StageMemory& m : memory) peak = std::max(peak, m.peak);
  return peak;
}

std::int64_t StepEstimate::peak_allocated_bytes() const {
  std::int64_t peak = 0;
  for (const StageMemory& m : memory) peak = std::max(peak, m.allocated());
  return peak;
}

std::int64_t StepEstimate::peak_reserved_bytes() const {
  std::int64_t peak = 0;
  for (const StageMemory& m : memory) peak = std::max(peak, m.reserved());
  return peak;
}

std::int64_t StepEstimate::peak_device_bytes() const {
  std::int64_t peak = 0;
  for (const StageMemory& m : memory) peak = std::max(peak, m.reserved() + m.outside);
  return peak;
}

namespace {

StepEstimate estimate_at_clock(const Program& program, const ScheduleTable& table,
                               const ClusterSpec& cluster, const Profile& profile,
                               StepDetail detail = StepDetail::whole) {
  const ClusterView view = view_cluster(cluster, program.plan);
  const StageRecords stages = record_stages(program, view, profile);
  const Flops per_token = model_flops_per_token(program.model, attended_length(program.workload),
                                                FlopsConvention::bridge);
  const StepWork work = step_work(per_token, program.workload, program.plan, cluster, profile);
  const bool starts = frees_cores(cluster, work.ranks, stages.size());
  StepEstimate e = summarise(stages, table, run_step(stages, table, starts, detail), work, cluster,
                             profile, detail);
  set_band(e, program.model, program.plan, profile);
  return e;
}

}  // namespace

Profile warm_profile(const Program& program, const ClusterSpec& cluster, const Profile& profile) {
  if (profile.sustained_clock.duty_slope <= 0) return profile;
  const StepEstimate burst =
      estimate_at_clock(program, table_of(program), cluster, profile, StepDetail::duty);
  return at_clock(profile, sustained_clock(profile.sustained_clock, burst));
}

StepEstimate estimate(const Program& program, const ClusterSpec& cluster, const Profile& profile) {
  const ScheduleTable table = table_of(program);
  if (profile.sustained_clock.duty_slope <= 0) {
    return estimate_at_clock(program, table, cluster, profile);
  }
  const StepEstimate burst =
      estimate_at_clock(program, table, cluster, profile, StepDetail::duty);
  const int clock = sustained_clock(profile.sustained_clock, burst);
  return estimate_at_clock(program, table, cluster, at_clock(profile, clock));
}

}  // namespace pleat
