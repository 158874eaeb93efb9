// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule with its dependencies worked out once: the slots of all stages in an order in
// which every input precedes its reader. Timing it is one pass over an array.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/pipeline_order.hpp"
#include "core/quantity.hpp"

namespace pleat {

// What a slot runs, as an index into one stage's durations: `vpp` forward chunks, `vpp` backward
// chunks, vpp * vpp pairs [forward * vpp + backward].
struct SlotWork {
  static int forward(int chunk) { return chunk; }
  static int backward(int chunk, int vpp) { return vpp + chunk; }
  static int pair(int forward, int backward, int vpp) { return 2 * vpp + forward * vpp + backward; }
  static int count(int vpp, bool paired) { return 2 * vpp + (paired ? vpp * vpp : 0); }
};

struct ScheduleTable {
  struct Step {
    std::int32_t stage = 0, slot = 0;       // slot: index into the stage's order
    std::int32_t work = 0;                  // SlotWork
    std::int32_t input[2] = {-1, -1};       // cells read; -1: none
    bool travels[2] = {false, false};       // the input comes from another stage
    std::int32_t output[2] = {-1, -1};      // cells written
  };
  int pp = 1, vpp = 1, microbatches = 1;
  bool paired = false;                          // slots marked with_next run as pairs
  std::vector<std::vector<Slot>> orders;        // by stage
  std::vector<std::vector<std::int32_t>> work;  // by stage: SlotWork in order
  std::vector<std::vector<std::int32_t>> times; // by stage: how often each SlotWork runs
  std::vector<Step> steps;
  std::int32_t cells = 0;                       // one a pass, virtual stage and microbatch
  [[nodiscard]] int kinds() const { return SlotWork::count(vpp, paired); }
};

// From the orders of all stages. An order that deadlocks is a broken invariant. `paired`: slots
// marked with_next run as one with the slot after them; else one after the other.
[[nodiscard]] ScheduleTable tabulate(int pp, int vpp, int microbatches,
                                     std::vector<std::vector<Slot>> orders, bool paired);
[[nodiscard]] ScheduleTable tabulate(const Schedule&);

struct TableTiming {
  Seconds end;
  std::vector<Seconds> finish, busy;  // by stage
  std::vector<Seconds> starts;        // of every step, if asked for
};

// durations: [stage][kinds()]; start: by stage. A slot starts when its stage is free and its inputs
// are there, `transfer` later where they travel (docs/MODEL.md section 8). O(slots).
[[nodiscard]] TableTiming time_table(const ScheduleTable&, const std::vector<Seconds>& durations,
                                     const std::vector<Seconds>& start, Seconds transfer,
                                     bool keep_starts = false);

}  // namespace pleat
