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

// What a slot runs, as an index into one stage's durations: forward and backward of each of its
// chunks; where backward passes are split, their input gradients and their weight gradients; then
// pairs of chunks [forward * chunks + backward].
struct SlotWork {
  int chunks = 1;
  bool split = false;
  [[nodiscard]] int alone(const Slot& slot) const {
    const int kind = static_cast<int>(slot.pass) + static_cast<int>(slot.part);
    return kind * chunks + slot.chunk.value;
  }
  [[nodiscard]] int first_pair() const { return (split ? 4 : 2) * chunks; }
  [[nodiscard]] int pair(ChunkId forward, ChunkId backward) const {
    return first_pair() + forward.value * chunks + backward.value;
  }
  [[nodiscard]] int count(bool paired) const {
    return first_pair() + (paired ? chunks * chunks : 0);
  }
};

// A stage's slots in order, as SlotWork. The middle of a long step repeats itself: from `first` on
// the same `round` of slots comes `times` times. times 0: nothing does.
struct StageWork {
  std::vector<std::int32_t> slots;
  std::size_t first = 0, round = 0, times = 0;
};

struct ScheduleTable {
  struct Step {
    std::int32_t stage = 0, slot = 0;       // slot: index into the stage's order
    std::int32_t work = 0;                  // SlotWork
    std::int32_t input[2] = {-1, -1};       // cells read; -1: none
    bool travels[2] = {false, false};       // the input comes from another stage
    bool sends = false;                     // a stage that waits for sends waits after it
    std::int32_t output[2] = {-1, -1};      // cells written; -1: none, for weight gradients
  };
  Schedule shape;
  bool paired = false;                          // slots marked with_next run as pairs
  // Megatron: a stage waits until what it sends has arrived, in plain 1F1B after every slot, in
  // interleaved 1F1B after those of warm-up and cool-down. Else sending takes none of its time.
  bool waits_for_sends = false;
  std::vector<std::vector<Slot>> orders;        // by stage; empty without TableParts::slots
  std::vector<StageWork> work;                  // by stage
  std::vector<std::vector<std::int32_t>> times; // by stage: how often each SlotWork runs
  std::vector<Step> steps;  // empty without TableParts::slots
  // What timing reads of each step.
  struct Walk {
    std::int32_t input[2] = {0, 0};         // 1 + the step that makes it; 0: none
    std::int32_t duration = 0;              // index into all stages' durations
    std::int32_t stage = 0;
    bool travels[2] = {false, false}, sends = false;
  };
  std::vector<Walk> walk;                       // parallel to steps
  // From walk[first] on the same `steps` come `times` times, each reading what comes as far before
  // it. `reach`: how far before them they, and what comes after them, read at most.
  struct Rounds {
    std::size_t first = 0, steps = 0, times = 0, reach = 0;
  };
  Rounds rounds;
  std::int32_t cells = 0;                       // one a pass, virtual stage and microbatch
  [[nodiscard]] SlotWork slot_work() const {
    return {.chunks = chunks_of_stage(shape), .split = splits_backward(shape.kind)};
  }
  [[nodiscard]] int kinds() const { return slot_work().count(paired); }
};

enum class TableParts {
  timing,  // what times and memory are worked out from: a third of the bytes
  slots,   // also what each step runs, for drawings
};

// From the orders of all stages. An order that deadlocks is a broken invariant. Where the schedule
// is paired, slots marked with_next run as one with the slot after them; else one after the other.
[[nodiscard]] ScheduleTable tabulate(const Schedule&, std::vector<std::vector<Slot>> orders,
                                     TableParts = TableParts::slots);
[[nodiscard]] ScheduleTable tabulate(const Schedule&, TableParts = TableParts::slots);

struct TableTiming {
  Seconds end;
  Seconds end_without_transfer;       // had no input to travel, if asked for
  std::vector<Seconds> finish, busy;  // by stage
  std::vector<Seconds> starts;        // of every step, if asked for
};

struct TableDetail {
  bool starts = false;                // of every step
  bool end_without_transfer = false;  // else it is the end
};

// durations: [stage][kinds()]; start: by stage. A slot starts when its stage is free and its inputs
// are there, `transfer` later where they travel; where the table says so the stage waits as long
// for what it sends (docs/MODEL.md section 8). O(slots), but where starts are not asked for, rounds
// of a long pipeline that take as long as the one before for all stages are not gone through (to
// 1e-11 of the end).
[[nodiscard]] TableTiming time_table(const ScheduleTable&, const std::vector<Seconds>& durations,
                                     const std::vector<Seconds>& start, Seconds transfer,
                                     TableDetail detail = {});

}  // namespace pleat
