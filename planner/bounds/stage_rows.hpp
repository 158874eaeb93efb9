// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The durations that one pipeline stage contributes to a step (a row), and the step that a row for
// each stage makes: for searches that price stages apart and combine them. At the burst clock.
//
// A step never gets shorter when an entry of a row grows. So the row with the smallest of each
// entry gives a lower bound for all rows that it stands for.
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
// Whether every entry of `a` is at most that of `b`.
[[nodiscard]] bool no_longer(const StageRow& a, const StageRow& b);
// Lowers each entry of `least` to the other row's if that is smaller. Both epilogues must have the
// same number of operations.
void lower(StageRow& least, const StageRow&);

class RowTimer {
 public:
  RowTimer(std::shared_ptr<const ScheduleTable> table, double slowest_excess)
      : table_(std::move(table)), slowest_excess_(slowest_excess) {}

  // The end of the step for one row a stage, without the constant that every plan has.
  [[nodiscard]] Seconds step(const std::vector<const StageRow*>& rows);

 private:
  std::shared_ptr<const ScheduleTable> table_;
  double slowest_excess_;
  std::vector<Seconds> durations_, starts_;  // kept for their memory
  std::vector<const std::vector<StepOpCost>*> epilogues_;
};

}  // namespace pleat
