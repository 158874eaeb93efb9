// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/schedule_table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

class Tabulator {
 public:
  Tabulator(ScheduleTable& table, TableParts parts)
      : t_(table), with_slots_(parts == TableParts::slots), work_(table.slot_work()),
        kinds_(table.kinds()), last_(virtual_stages(table.shape) - 1),
        next_(table.orders.size()) {
    t_.cells = 2 * (last_ + 1) * t_.shape.microbatches;
    writer_.resize(static_cast<std::size_t>(t_.cells));
    for (const std::vector<Slot>& order : t_.orders) turns_.push_back(turns_of(order));
    for (int s = 0; s < t_.shape.pp; ++s) {
      for (int c = 0; c < work_.chunks; ++c) {
        for (const Pass pass : {Pass::forward, Pass::backward}) {
          ways_.push_back(way_of(s, ChunkId{c}, pass));
        }
      }
    }
    t_.work.resize(t_.orders.size());
    t_.times.assign(t_.orders.size(),
                    std::vector<std::int32_t>(static_cast<std::size_t>(kinds_)));
  }

  void run() {
    std::size_t left = 0;
    for (std::size_t s = 0; s < t_.orders.size(); ++s) {
      left += t_.orders[s].size();
      t_.work[s].reserve(t_.orders[s].size());
    }
    if (with_slots_) t_.steps.reserve(left);
    t_.walk.reserve(left);
    while (left > 0) {
      std::size_t advanced = 0;
      for (int s = 0; s < t_.shape.pp; ++s) {
        while (const std::size_t n = advance(s)) advanced += n;
      }
      PLEAT_ASSERT(advanced > 0);  // else the order deadlocks
      left -= advanced;
    }
  }

 private:
  // What the slots of a chunk and pass have in common; the cells are those of microbatch 0.
  struct Way {
    std::int32_t input = -1, output = 0;  // -1: it reads the data
    bool travels = false;                 // the input comes from another stage
    bool sends = false;                   // the output goes to another one
  };

  [[nodiscard]] std::int32_t cell(Pass pass, int virtual_stage) const {
    return (static_cast<int>(pass) * (last_ + 1) + virtual_stage) * t_.shape.microbatches;
  }

  // Is that virtual stage on stage s? So with one stage, and at the turn of a V. DualPipe's chunks
  // belong to different microbatches.
  [[nodiscard]] bool holds(int s, int place) const {
    if (t_.shape.pp == 1) return true;
    if (t_.shape.kind == PipelineSchedule::dualpipe) return false;
    for (int c = 0; c < work_.chunks; ++c) {
      if (virtual_stage(t_.shape, Stage{s}, ChunkId{c}) == place) return true;
    }
    return false;
  }

  [[nodiscard]] Way way_of(int s, ChunkId chunk, Pass pass) const {
    const int v = virtual_stage(t_.shape, Stage{s}, chunk);
    const int step = pass == Pass::forward ? 1 : -1;
    const auto other = [&](int place) { return place >= 0 && place <= last_ && !holds(s, place); };
    Way way{.output = cell(pass, v), .travels = other(v - step), .sends = other(v + step)};
    const bool turns = pass == Pass::backward && v == last_;
    if (turns) way.input = cell(Pass::forward, v);
    else if (v - step >= 0) way.input = cell(pass, v - step);
    return way;
  }
  [[nodiscard]] const Way& way(int s, const Slot& slot) const {
    const int chunk = s * work_.chunks + slot.chunk.value;
    return ways_[static_cast<std::size_t>(2 * chunk + static_cast<int>(slot.pass))];
  }

  // The cell a slot reads; false: not written yet.
  bool find_input(int s, const Slot& slot, std::int32_t& input, bool& travels) const {
    if (slot.part == SlotPart::weight_gradients) return true;  // an earlier slot made them
    const Way& w = way(s, slot);
    if (w.input < 0) return true;
    input = w.input + slot.microbatch.value;
    travels = w.travels;
    return writer_[static_cast<std::size_t>(input)] > 0;
  }

  // Megatron's schedules.py: plain 1F1B exchanges tensors between slots, interleaved 1F1B beside
  // them but for its warm-up and cool-down, where slots of one direction follow each other.
  [[nodiscard]] bool waits_for_send(int s, const std::vector<Slot>& order, std::size_t i) const {
    if (t_.shape.kind != PipelineSchedule::one_f_one_b || !way(s, order[i]).sends) return false;
    if (t_.shape.vpp == 1) return true;
    const Turns& turns = turns_[static_cast<std::size_t>(s)];
    const bool forward = order[i].pass == Pass::forward;
    return forward ? i < turns.first_backward : i > turns.last_forward;
  }

  // Where a stage's warm-up ends and its cool-down begins.
  struct Turns {
    std::size_t first_backward = 0, last_forward = 0;
  };
  static Turns turns_of(const std::vector<Slot>& order) {
    const auto is_forward = [](const Slot& o) { return o.pass == Pass::forward; };
    const auto backward = std::ranges::find_if_not(order, is_forward);
    const auto forward = std::find_if(order.rbegin(), order.rend(), is_forward);
    return {static_cast<std::size_t>(backward - order.begin()),
            static_cast<std::size_t>(order.rend() - forward) - 1};
  }

  // Takes up the stage's next slot, or pair of slots, if its inputs are there; returns how many.
  std::size_t advance(int s) {
    const auto stage = static_cast<std::size_t>(s);
    const std::vector<Slot>& order = t_.orders[stage];
    const std::size_t i = next_[stage];
    if (i >= order.size()) return 0;
    ScheduleTable::Step step{.stage = s, .slot = static_cast<std::int32_t>(i)};
    const std::size_t count = order[i].with_next && t_.paired ? 2 : 1;
    for (std::size_t k = 0; k < count; ++k) {
      if (!find_input(s, order[i + k], step.input[k], step.travels[k])) return 0;
    }
    const auto number = static_cast<std::int32_t>(t_.walk.size()) + 1;
    for (std::size_t k = 0; k < count; ++k) {
      const Slot& slot = order[i + k];
      if (slot.part == SlotPart::weight_gradients) continue;
      step.output[k] = way(s, slot).output + slot.microbatch.value;
      writer_[static_cast<std::size_t>(step.output[k])] = number;
    }
    step.sends = count == 1 && waits_for_send(s, order, i);
    step.work = count == 2 ? work_.pair(order[i].chunk, order[i + 1].chunk) : work_.alone(order[i]);
    t_.work[stage].push_back(step.work);
    ++t_.times[stage][static_cast<std::size_t>(step.work)];
    if (with_slots_) t_.steps.push_back(step);
    t_.walk.push_back(walk_of(step));
    next_[stage] += count;
    return count;
  }

  [[nodiscard]] ScheduleTable::Walk walk_of(const ScheduleTable::Step& step) const {
    ScheduleTable::Walk walk{.duration = step.stage * kinds_ + step.work,
                             .stage = step.stage,
                             .sends = step.sends};
    for (std::size_t k = 0; k < 2; ++k) {
      if (step.input[k] < 0) continue;
      walk.input[k] = writer_[static_cast<std::size_t>(step.input[k])];
      walk.travels[k] = step.travels[k];
    }
    return walk;
  }

  ScheduleTable& t_;
  bool with_slots_;
  SlotWork work_;
  int kinds_;
  int last_;  // virtual stage
  std::vector<Turns> turns_;  // by stage
  std::vector<Way> ways_;     // [(stage * chunks + chunk) * 2 + pass]
  std::vector<std::int32_t> writer_;  // of each cell: 1 + a step; 0: not written yet
  std::vector<std::size_t> next_;
};

}  // namespace

ScheduleTable tabulate(const Schedule& schedule, std::vector<std::vector<Slot>> orders,
                       TableParts parts) {
  PLEAT_ASSERT(orders.size() == static_cast<std::size_t>(schedule.pp));
  ScheduleTable table{.shape = schedule,
                      .paired = schedule.paired,
                      .waits_for_sends = false,
                      .orders = std::move(orders),
                      .work = {},
                      .times = {},
                      .steps = {},
                      .walk = {}};
  Tabulator(table, parts).run();
  if (parts == TableParts::timing) table.orders = {};
  return table;
}

ScheduleTable tabulate(const Schedule& schedule, TableParts parts) {
  std::vector<std::vector<Slot>> orders;
  for (int s = 0; s < schedule.pp; ++s) orders.push_back(pipeline_order(schedule, Stage{s}));
  return tabulate(schedule, std::move(orders), parts);
}

namespace {

// The same walk for one transfer time, or for two of them side by side. `pairs`: steps may have two
// inputs; `waits`: stages wait for what they send. What a step does not have is read as a time that
// is always over, and what does not travel arrives at once, so that there is nothing to decide.
template <std::size_t N, bool pairs, bool waits>
void walk(const ScheduleTable& table, const std::vector<Seconds>& durations,
          const std::array<Seconds, N>& transfer, std::vector<std::array<Seconds, N>>& finish,
          std::vector<Seconds>* starts) {
  using Times = std::array<Seconds, N>;
  const Times delay[2] = {{}, transfer};
  thread_local std::vector<Times> ends;  // of the steps, after that of none
  if (ends.size() <= table.walk.size()) ends.resize(table.walk.size() + 1);
  ends[0].fill(Seconds(-std::numeric_limits<double>::infinity()));
  const Times* const made = ends.data();
  Times* end = ends.data();
  for (const ScheduleTable::Walk& step : table.walk) {
    Times from = finish[static_cast<std::size_t>(step.stage)];
    const auto wait_for = [&](int k) {
      const Times& ready = made[step.input[k]];
      const Times& late = delay[step.travels[k] ? 1 : 0];
      for (std::size_t n = 0; n < N; ++n) from[n] = std::max(from[n], ready[n] + late[n]);
    };
    wait_for(0);
    if constexpr (pairs) wait_for(1);
    if (starts != nullptr) starts->push_back(from[0]);
    const Seconds work = durations[static_cast<std::size_t>(step.duration)];
    for (Seconds& t : from) t += work;  // the end now
    *++end = from;
    if constexpr (waits) {
      for (std::size_t n = 0; n < N; ++n) from[n] += delay[step.sends ? 1 : 0][n];
    }
    finish[static_cast<std::size_t>(step.stage)] = from;
  }
}

template <std::size_t N>
void walk(const ScheduleTable& table, const std::vector<Seconds>& durations,
          const std::vector<Seconds>& start, const std::array<Seconds, N>& transfer,
          std::vector<Seconds>* starts, TableTiming& timing) {
  thread_local std::vector<std::array<Seconds, N>> finish;  // by stage
  finish.resize(start.size());
  for (std::size_t s = 0; s < start.size(); ++s) finish[s].fill(start[s]);
  const bool waits = table.waits_for_sends;
  const auto run = table.paired ? (waits ? walk<N, true, true> : walk<N, true, false>)
                                : (waits ? walk<N, false, true> : walk<N, false, false>);
  run(table, durations, transfer, finish, starts);
  timing.finish.reserve(start.size());
  for (const auto& end : finish) {
    timing.finish.push_back(end[0]);
    timing.end = std::max(timing.end, end[0]);
    timing.end_without_transfer = std::max(timing.end_without_transfer, end[N - 1]);
  }
}

}  // namespace

TableTiming time_table(const ScheduleTable& table, const std::vector<Seconds>& durations,
                       const std::vector<Seconds>& start, Seconds transfer, TableDetail detail) {
  const auto stages = static_cast<std::size_t>(table.shape.pp);
  const auto kinds = static_cast<std::size_t>(table.kinds());
  PLEAT_ASSERT(durations.size() == stages * kinds && start.size() == stages);
  TableTiming timing;
  std::vector<Seconds>* const starts = detail.starts ? &timing.starts : nullptr;
  if (detail.starts) timing.starts.reserve(table.walk.size());
  if (detail.end_without_transfer && transfer > Seconds(0)) {
    walk<2>(table, durations, start, {transfer, Seconds(0)}, starts, timing);
  } else {
    walk<1>(table, durations, start, {transfer}, starts, timing);
  }
  timing.busy.resize(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    for (std::size_t k = 0; k < kinds; ++k) {
      timing.busy[s] += durations[s * kinds + k] * table.times[s][k];
    }
  }
  return timing;
}

}  // namespace pleat
