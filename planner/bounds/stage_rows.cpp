// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/stage_rows.hpp"

#include <algorithm>

namespace pleat {

StageRow stage_row(const StageRecord& record, const ScheduleTable& table) {
  StageRow row{.slots = {}, .prologue = {}, .transfer = record.transfer,
               .epilogue = record.epilogue};
  record.costs.for_each(table.paired,
                        [&](const PassCost& cost) { row.slots.push_back(cost.time); });
  for (const StepOpCost& op : record.prologue) row.prologue += op.exposed;
  return row;
}

bool no_longer(const StageRow& a, const StageRow& b) {
  const auto at_most = [](Seconds x, Seconds y) { return x <= y; };
  const auto exposed = [](const StepOpCost& x, const StepOpCost& y) {
    return x.exposed <= y.exposed;
  };
  return a.prologue <= b.prologue && a.transfer <= b.transfer &&
         std::ranges::equal(a.slots, b.slots, at_most) &&
         std::ranges::equal(a.epilogue, b.epilogue, exposed);
}

void lower(StageRow& least, const StageRow& row) {
  for (std::size_t i = 0; i < row.slots.size(); ++i) {
    least.slots[i] = std::min(least.slots[i], row.slots[i]);
  }
  least.prologue = std::min(least.prologue, row.prologue);
  least.transfer = std::min(least.transfer, row.transfer);
  for (std::size_t i = 0; i < row.epilogue.size(); ++i) {
    least.epilogue[i].exposed = std::min(least.epilogue[i].exposed, row.epilogue[i].exposed);
  }
}

Seconds RowTimer::step(const std::vector<const StageRow*>& rows) {
  durations_.clear();
  starts_.clear();
  epilogues_.clear();
  Seconds transfer;
  for (const StageRow* row : rows) {
    durations_.insert(durations_.end(), row->slots.begin(), row->slots.end());
    starts_.push_back(row->prologue);
    epilogues_.push_back(&row->epilogue);
    transfer = std::max(transfer, row->transfer);
  }
  const TableTiming pipeline = time_table(*table_, durations_, starts_, transfer);
  const StepEnd end = finish_step(epilogues_, pipeline.finish);
  return *std::ranges::max_element(end.end) + pipeline.end * slowest_excess_;
}

}  // namespace pleat
