// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What each stage of a pipeline adds to a step, and the step that stages make together: for searches
// that put a pipeline together of stages priced apart. At the burst clock.
//
// No step is shorter where an entry of a stage is larger: rows with the least of each entry bound all
// steps of the rows they stand for.
#pragma once

#include <vector>

#include "simulator/step_timeline.hpp"

namespace pleat {

struct StageRow {
  std::vector<Seconds> slots;  // by SlotWork
  Seconds prologue, transfer;
  std::vector<StepOpCost> epilogue;
};

[[nodiscard]] StageRow stage_row(const StageRecord&, const ScheduleTable&);
// Whether no part of `a` takes longer than the same one of `b`.
[[nodiscard]] bool no_longer(const StageRow& a, const StageRow& b);
// Of each entry the least of the two. The epilogues must have the same number of operations.
void lower(StageRow& least, const StageRow&);

class RowTimer {
 public:
  RowTimer(std::shared_ptr<const ScheduleTable> table, double straggler_slowdown)
      : table_(std::move(table)), straggler_slowdown_(straggler_slowdown) {}

  // The end of the step of these stages, one row each, but for what all plans add.
  [[nodiscard]] Seconds step(const std::vector<const StageRow*>& rows);

 private:
  std::shared_ptr<const ScheduleTable> table_;
  double straggler_slowdown_;
  std::vector<Seconds> durations_, starts_;  // kept for their memory
  std::vector<const std::vector<StepOpCost>*> epilogues_;
};

}  // namespace pleat
