// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/schedule_table.hpp"

#include <algorithm>

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
      t_.work[s].slots.reserve(t_.orders[s].size());
    }
    if (with_slots_) t_.steps.reserve(left);
    t_.walk.reserve(left);
    while (left > 0) {
      std::size_t advanced = 0;
      // A slot of each stage in turn, so that the rounds of all stages have one order.
      for (int s = 0; s < t_.shape.pp; ++s) advanced += advance(s);
      PLEAT_ASSERT(advanced > 0);  // else the order deadlocks
      left -= advanced;
    }
    for (StageWork& work : t_.work) find_rounds(work);
    find_rounds();
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
    t_.work[stage].slots.push_back(step.work);
    ++t_.times[stage][static_cast<std::size_t>(step.work)];
    if (with_slots_) t_.steps.push_back(step);
    t_.walk.push_back(walk_of(step));
    next_[stage] += count;
    return count;
  }

  // A round has a group of microbatches in each chunk: one slot for both passes where they run in
  // pairs, else two, and three where backward passes are split.
  [[nodiscard]] std::size_t slots_of_round(std::size_t of_microbatch) const {
    const Schedule& s = t_.shape;
    const int group = s.vpp == 1 ? 1 : s.group > 0 ? s.group : s.pp;
    return static_cast<std::size_t>(group * s.vpp) * of_microbatch;
  }

  // The longest run of `count` things of which each is like the one a round later.
  struct Run {
    std::size_t first = 0, round = 0, times = 0;
  };
  template <class Alike>
  static void find_longest(std::size_t count, std::size_t round, const Alike& alike, Run& longest) {
    std::size_t first = 0;
    for (std::size_t i = 0; i + round < count; ++i) {
      if (!alike(i, i + round)) {
        first = i + 1;
        continue;
      }
      const std::size_t times = (i + 1 - first + round) / round;
      if (times > 1 && times * round > longest.times * longest.round) {
        longest = {first, round, times};
      }
    }
  }

  void find_rounds(StageWork& work) const {
    Run longest;
    for (const std::size_t of_microbatch : {1, 2, 3}) {
      find_longest(work.slots.size(), slots_of_round(of_microbatch),
                   [&](std::size_t a, std::size_t b) { return work.slots[a] == work.slots[b]; },
                   longest);
    }
    work.first = longest.first;
    work.round = longest.round;
    work.times = longest.times;
  }

  void find_rounds() {
    const auto alike = [&](std::size_t a, std::size_t b) {
      const ScheduleTable::Walk &x = t_.walk[a], &y = t_.walk[b];
      const auto same_input = [&](int k) {
        if (x.input[k] == 0 || y.input[k] == 0) return x.input[k] == y.input[k];
        return y.input[k] - x.input[k] == static_cast<std::int32_t>(b - a);
      };
      return x.duration == y.duration && x.travels[0] == y.travels[0] &&
             x.travels[1] == y.travels[1] && x.sends == y.sends && same_input(0) && same_input(1);
    };
    Run longest;
    for (const std::size_t of_microbatch : {1, 2, 3}) {
      find_longest(t_.walk.size(),
                   slots_of_round(of_microbatch) * static_cast<std::size_t>(t_.shape.pp), alike,
                   longest);
    }
    t_.rounds = {longest.first, longest.round, longest.times, longest.round};
    for (std::size_t i = longest.first; i < t_.walk.size(); ++i) {
      for (const std::int32_t input : t_.walk[i].input) {
        if (input == 0) continue;
        t_.rounds.reach = std::max(t_.rounds.reach, i + 1 - static_cast<std::size_t>(input));
      }
    }
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
                      .walk = {},
                      .rounds = {}};
  Tabulator(table, parts).run();
  if (parts == TableParts::timing) table.orders = {};
  return table;
}

ScheduleTable tabulate(const Schedule& schedule, TableParts parts) {
  std::vector<std::vector<Slot>> orders;
  for (int s = 0; s < schedule.pp; ++s) orders.push_back(pipeline_order(schedule, Stage{s}));
  return tabulate(schedule, std::move(orders), parts);
}

}  // namespace pleat
