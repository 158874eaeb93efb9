// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Paths through the slots of a pipeline: chains in which each slot starts after the one before it.
// The step is at least as long as each path, and a path's length is linear in the durations of its
// slots.
#pragma once

#include "simulator/schedule_table.hpp"

namespace pleat {

// How often a path passes each kind of slot, and how many transfers it waits for.
struct SlotPath {
  std::vector<std::int32_t> times;  // [stage * kinds() + SlotWork]
  std::int32_t transfers = 0;
};

class SlotPaths {
 public:
  explicit SlotPaths(const ScheduleTable&);  // the reference must outlive it

  // For each stage the longest path that stays on that stage, except for up to `ways` slots at its
  // two ends. durations: [stage][kinds()].
  [[nodiscard]] std::vector<SlotPath> along_stages(const std::vector<Seconds>& durations,
                                                   Seconds transfer, double ways);

 private:
  struct Edge {
    std::int32_t step = -1;  // the other end; -1: none
    bool travels = false;
  };
  [[nodiscard]] SlotPath along(const std::vector<std::int32_t>& own, double ways) const;
  void count(std::int32_t step, SlotPath&) const;

  const ScheduleTable& table_;
  std::size_t kinds_;
  std::vector<Edge> edges_;                     // [step * 3]: the slot before, then the inputs
  std::vector<std::vector<std::int32_t>> own_;  // steps of a stage, in order
  std::vector<Seconds> end_, after_;            // by step: longest path to its end, from its end
  std::vector<Edge> from_, to_;                 // by step: where those come from and go to
};

}  // namespace pleat
