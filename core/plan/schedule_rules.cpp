// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of the pipeline orders that split the backward pass (zero-bubble ones arXiv:2401.10241,
// V-shaped ones arXiv:2405.15362, DualPipe arXiv:2412.19437).
#include <fmt/format.h>

#include "core/plan/constraint_rules.hpp"

namespace pleat::rules {
namespace {

bool other_order(const PlanContext& c) {
  return degrees_positive(c) && c.plan.schedule != PipelineSchedule::one_f_one_b;
}

bool pipeline_holds(const PlanContext& c) { return !other_order(c) || c.plan.attention.pp > 1; }
Violation explain_pipeline(const PlanContext& c) {
  return {"", "schedule",
          fmt::format("{} needs a pipeline, but PP is 1", name_of(c.plan.schedule)), "1f1b"};
}

int chunks_of(PipelineSchedule s) {
  return s == PipelineSchedule::zb_v || s == PipelineSchedule::dualpipe_v ? 2 : 1;
}
bool chunks_hold(const PlanContext& c) {
  return !other_order(c) || c.plan.vpp == chunks_of(c.plan.schedule);
}
Violation explain_chunks(const PlanContext& c) {
  return {"", "vpp",
          fmt::format("{} has VPP {}, not {}", name_of(c.plan.schedule),
                      chunks_of(c.plan.schedule), c.plan.vpp),
          c.plan.schedule == PipelineSchedule::dualpipe
              ? "its two chunks a stage are copies of two stages of the layout"
              : ""};
}

bool stages_pair(const PlanContext& c) {
  return !other_order(c) || c.plan.schedule != PipelineSchedule::dualpipe ||
         c.plan.attention.pp % 2 == 0;
}
Violation explain_pairs(const PlanContext& c) {
  return {"", "attention.pp",
          fmt::format("dualpipe pairs stages from both ends, PP {} is odd", c.plan.attention.pp),
          "an even PP"};
}

// Both ends of DualPipe, and a V, must be filled before the orders turn steady.
std::int64_t least_microbatches(const PlanContext& c) {
  return is_dualpipe(c.plan.schedule) ? product(2, c.plan.attention.pp) : 1;
}
std::int64_t microbatches_of(const PlanContext& c) {
  return c.workload.global_batch / product(c.plan.attention.dp, c.plan.micro_batch);
}
bool microbatches_hold(const PlanContext& c) {
  if (!other_order(c)) return true;
  const std::int64_t m = microbatches_of(c);
  const bool halves = c.plan.schedule != PipelineSchedule::dualpipe || m % 2 == 0;
  return m >= least_microbatches(c) && halves;
}
Violation explain_microbatches(const PlanContext& c) {
  const std::int64_t m = microbatches_of(c);
  const bool dualpipe = c.plan.schedule == PipelineSchedule::dualpipe;
  return {"", "schedule",
          fmt::format("{} needs at least {}{} microbatches, there are {}",
                      name_of(c.plan.schedule), least_microbatches(c),
                      dualpipe ? " and an even number of" : "", m),
          "a smaller DP, PP or micro batch, or a larger global batch"};
}

bool no_group(const PlanContext& c) { return !other_order(c) || c.plan.microbatch_group == 0; }
Violation explain_no_group(const PlanContext& c) {
  return {"", "microbatch_group",
          fmt::format("groups of microbatches belong to interleaved 1f1b, not to {}",
                      name_of(c.plan.schedule)),
          "0"};
}

// Zero-bubble orders leave no forward beside a backward of another microbatch.
bool overlap_holds(const PlanContext& c) {
  return !other_order(c) || !c.plan.overlap.expert_parallel || is_dualpipe(c.plan.schedule);
}
Violation explain_overlap(const PlanContext& c) {
  return {"", "schedule",
          fmt::format("{} excludes overlap of expert-parallel communication",
                      name_of(c.plan.schedule)),
          "1f1b with VPP > 1, dualpipe or dualpipe-v"};
}

}  // namespace

void append_schedule_rules(std::vector<Constraint>& list) {
  list.push_back({"schedule-needs-pipeline", pipeline_holds, explain_pipeline});
  list.push_back({"schedule-chunks", chunks_hold, explain_chunks});
  list.push_back({"schedule-stages", stages_pair, explain_pairs});
  list.push_back({"schedule-microbatches", microbatches_hold, explain_microbatches});
  list.push_back({"schedule-group", no_group, explain_no_group});
  list.push_back({"schedule-ep-overlap", overlap_holds, explain_overlap});
}

}  // namespace pleat::rules
