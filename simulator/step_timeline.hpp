// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A whole step put together from the records of its stages: what estimate() summarises and
// predicted_trace() draws.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "simulator/schedule_table.hpp"
#include "simulator/stage_record.hpp"

namespace pleat {

using StageRecords = std::vector<std::shared_ptr<const StageRecord>>;  // by stage; may repeat

// Prices every stage of a compiled program. Stages with the same layers share nothing here.
[[nodiscard]] StageRecords record_stages(const Program&, const ClusterView&, const Profile&);

[[nodiscard]] ScheduleTable table_of(const Program&);

struct StepTimeline {
  TableTiming pipeline;
  Seconds end_without_transfer;  // of the pipeline
  std::vector<Seconds> prologue; // by stage
  StepEnd step_end;
};

// Time of everything a stage's slots run, [stage][table.kinds()].
[[nodiscard]] std::vector<Seconds> slot_durations(const StageRecords&, const ScheduleTable&);

// Prologue, pipeline and epilogue of one step. With `keep_starts` the starts of slots and step ops.
[[nodiscard]] StepTimeline run_step(const StageRecords&, const ScheduleTable&,
                                    bool keep_starts = false);

}  // namespace pleat
