// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a predicted trace shows beside its operations: slots and idle time, transfers between
// stages, hidden gradient exchanges, memory, and arrows between them.
#pragma once

#include <string>
#include <vector>

#include "core/trace/trace.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {

// Tracks of a rank after its streams. Transfers that run at once take further tracks: odd numbers
// for sends, even ones for receives.
inline constexpr int kSlotsTrack = 3, kSyncTrack = 4, kSendTrack = 5, kReceiveTrack = 6;

// What a stage runs at one time: a slot, or a pair of them.
struct StageRun {
  const ScheduleTable::Step* step = nullptr;
  const Slot* slots[2] = {nullptr, nullptr};  // the second only of a pair
  const PassCost* cost = nullptr;
  Seconds start, end;
};

// A step with everything a trace shows of it. Runs point into `table` and `records`.
struct DrawnStep {
  StageRecords records;
  ScheduleTable table;
  StepTimeline timeline;
  Seconds straggling;                                 // what all wait for the slowest rank's slots
  std::vector<std::vector<Seconds>> prologue_starts;  // by stage and op
  std::vector<std::vector<StageRun>> runs;            // by stage, in time order
};
// Fills `runs` and `prologue_starts`; the rest is there, with the starts of slots and step ops.
void find_runs(DrawnStep&);

// The rank that stands for a stage: its first.
[[nodiscard]] int trace_rank(const Program&, std::size_t stage);

// Prologue, slots, idle time, epilogue and the step's overhead: tiles every stage's step.
void draw_slots(Trace&, const Program&, const DrawnStep&);
// Gradient and weight exchanges that slots hide, and arrows to them and to the exposed rest;
// between stages, arrows from the last to come to a barrier to the others.
void draw_sync(Trace&, const Program&, const DrawnStep&);
// Live bytes of each stage's device: the highest of a run while it lasts, then what it leaves. The
// highest of all is the estimate's peak.
void draw_memory(Trace&, const Program&, const DrawnStep&);

// A transfer's spans, by index into Trace::spans.
struct Transfer {
  std::size_t send = 0, receive = 0;
  double consumed_s = 0;  // start of the slot that needs it
};
// Moves the spans of kSendTrack and kReceiveTrack apart, then draws an arrow for each transfer.
void draw_transfers(Trace&, const std::vector<Transfer>&);

}  // namespace pleat
