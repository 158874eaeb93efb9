// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a predicted trace shows beside its operations: slots, transfers, memory, gradient sync.
#include "simulator/trace_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

namespace pleat {
namespace {

std::string slot_name(const Slot& slot, bool chunks) {
  const char* pass = slot.part == SlotPart::weight_gradients ? "W"
                     : slot.pass == Pass::forward            ? "F"
                                                             : "B";
  return fmt::format("{} m{}{}", pass, slot.microbatch.value,
                     chunks ? fmt::format(" c{}", slot.chunk.value) : "");
}

// Slices one after the other; what is left between them is idle time.
class Track {
 public:
  Track(Trace& trace, TracePlace place) : trace_(trace), place_(place) {}

  void add(double start, double end, std::string name) {
    const double least = 1e-12 * trace_.step_s;
    if (start - now_ > least) put(start, "idle");
    if (end - now_ > least) put(end, std::move(name));
  }

 private:
  void put(double end, std::string name) {
    trace_.slices.push_back({place_, now_, end - now_, std::move(name)});
    now_ = end;
  }

  Trace& trace_;
  TracePlace place_;
  double now_ = 0;
};

}  // namespace

int trace_rank(const Program& program, std::size_t stage) {
  return program.stages[stage].stage.value * (program.plan.world() / program.plan.attention.pp);
}

void find_runs(DrawnStep& d) {
  d.runs.resize(d.records.size());
  d.prologue_starts.resize(d.records.size());
  for (std::size_t i = 0; i < d.table.steps.size(); ++i) {
    const ScheduleTable::Step& step = d.table.steps[i];
    const auto s = static_cast<std::size_t>(step.stage), slot = static_cast<std::size_t>(step.slot);
    const std::vector<Slot>& order = d.table.orders[s];
    const StageCosts& costs = d.records[s]->costs;
    const Slot& first = order[slot];
    StageRun run{.step = &step,
                 .slots = {&first, nullptr},
                 .cost = nullptr,
                 .start = d.timeline.pipeline.starts[i],
                 .end = {}};
    if (d.table.paired && first.with_next) {
      run.slots[1] = &order[slot + 1];
      run.cost = &costs.pair(first.chunk, run.slots[1]->chunk);
    } else {
      run.cost = &costs.of(first);
    }
    run.end = run.start + run.cost->time;
    d.runs[s].push_back(run);
  }
  for (std::size_t s = 0; s < d.records.size(); ++s) {
    Seconds now;
    for (const StepOpCost& op : d.records[s]->prologue) {
      d.prologue_starts[s].push_back(now);
      now += op.exposed;
    }
  }
}

void draw_slots(Trace& trace, const Program& program, const DrawnStep& d) {
  const bool chunks = chunks_of_stage(d.table.shape) > 1;
  double end = 0;
  for (Seconds stage_end : d.timeline.step_end.end) end = std::max(end, stage_end.base());
  for (std::size_t s = 0; s < d.runs.size(); ++s) {
    const TracePlace place{trace_rank(program, s), kSlotsTrack};
    trace.track_names[place] = "slots";
    Track track(trace, place);
    const auto add_ops = [&](const std::vector<Op>& ops, const std::vector<StepOpCost>& costs,
                             const std::vector<Seconds>& starts) {
      for (std::size_t i = 0; i < ops.size(); ++i) {
        track.add(starts[i].base(), (starts[i] + costs[i].exposed).base(), ops[i].name);
      }
    };
    add_ops(program.stages[s].prologue, d.records[s]->prologue, d.prologue_starts[s]);
    for (const StageRun& run : d.runs[s]) {
      std::string name = slot_name(*run.slots[0], chunks);
      if (run.slots[1] != nullptr) name += " + " + slot_name(*run.slots[1], chunks);
      track.add(run.start.base(), run.end.base(), std::move(name));
    }
    add_ops(program.stages[s].epilogue, d.records[s]->epilogue, d.timeline.step_end.starts[s]);
    track.add(end, end + d.straggling.base(), "waiting for the slowest rank");
    track.add(end + d.straggling.base(), trace.step_s, "step overhead");
  }
}

void draw_memory(Trace& trace, const Program& program, const DrawnStep& d) {
  for (std::size_t s = 0; s < d.runs.size(); ++s) {
    const StageRecord& record = *d.records[s];
    // Graphs keep what all of their passes in flight put out, from capture on.
    const std::int64_t graphs =
        most_in_flight(d.table.work[s], record.graph_outputs, !record.costs.input.empty());
    std::int64_t live =
        record.state.total() + record.runtime.allocated + record.runtime.outside + graphs;
    const int rank = trace_rank(program, s);
    trace.memory.push_back({rank, 0, live});
    const auto add = [&](Seconds start, Seconds end, const MemoryDelta& delta) {
      trace.memory.push_back({rank, start.base(), live + delta.peak});
      live += delta.net;
      trace.memory.push_back({rank, end.base(), live});
    };
    for (const StageRun& run : d.runs[s]) add(run.start, run.end, run.cost->memory);
    add(d.timeline.pipeline.finish[s], d.timeline.step_end.end[s], record.epilogue_memory);
  }
}

void draw_transfers(Trace& trace, const std::vector<Transfer>& transfers) {
  std::map<TracePlace, std::vector<std::size_t>> spans;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    const Span& span = trace.spans[i];
    if (span.track >= kSendTrack) spans[{span.rank, span.track}].push_back(i);
  }
  for (auto& [place, list] : spans) {
    std::ranges::stable_sort(list, {}, [&](std::size_t i) { return trace.spans[i].start_s; });
    std::vector<double> busy_until;  // by lane
    for (const std::size_t i : list) {
      Span& span = trace.spans[i];
      const auto free =
          std::ranges::find_if(busy_until, [&](double t) { return t <= span.start_s; });
      const auto lane = static_cast<int>(free - busy_until.begin());
      if (free == busy_until.end()) busy_until.push_back(0);
      busy_until[static_cast<std::size_t>(lane)] = span.start_s + span.duration_s;
      span.track = place.track + 2 * lane;
      const char* name = place.track == kSendTrack ? "send" : "receive";
      trace.track_names[{place.rank, span.track}] =
          lane == 0 ? name : fmt::format("{} {}", name, lane + 1);
    }
  }
  for (const Transfer& t : transfers) {
    const Span& send = trace.spans[t.send];
    const Span& receive = trace.spans[t.receive];
    trace.flows.push_back(
        {fmt::format("{} m{}", send.key.pass == Pass::forward ? "activation" : "gradient",
                     send.key.microbatch),
         {{{send.rank, send.track}, send.start_s},
          {{receive.rank, receive.track}, receive.start_s},
          {{receive.rank, kSlotsTrack}, t.consumed_s}}});
  }
}

// Gradient synchronisation in a predicted trace: what slots hide, what stays, who waits for whom.

namespace {

bool syncs(const StepOpCost& op) { return is_collective(op.kind) && over_data_parallel(op); }

Seconds hidden(const StepOpCost& op) { return std::max(Seconds(0), op.cost.time - op.exposed); }

// The run that is under way at a moment, or the last before it; null before the first.
const StageRun* run_at(const std::vector<StageRun>& runs, double at_s) {
  const StageRun* found = nullptr;
  for (const StageRun& run : runs) {
    if (run.start.base() <= at_s) found = &run;
  }
  return found;
}

// Reductions end with the last slot, gathers begin with the first one (they are those of the step
// before, whose weights this one needs).
void draw_stage(Trace& trace, const Program& program, const DrawnStep& d, std::size_t s) {
  const std::vector<StageRun>& runs = d.runs[s];
  const std::vector<Op>& ops = program.stages[s].epilogue;
  const std::vector<StepOpCost>& costs = d.records[s]->epilogue;
  const TracePlace place{trace_rank(program, s), kSyncTrack};
  const auto put = [&](std::size_t i, double start) {
    trace.track_names[place] = "gradient sync, hidden";
    trace.slices.push_back({place, start, hidden(costs[i]).base(), ops[i].name + " (hidden)"});
  };
  double gathered = runs.empty() ? 0 : runs.front().start.base();
  Seconds reducing;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!syncs(costs[i]) || hidden(costs[i]) <= Seconds(0)) continue;
    if (family_of(costs[i].kind) != OpKind::all_gather) {
      reducing += hidden(costs[i]);
      continue;
    }
    put(i, gathered);
    gathered += hidden(costs[i]).base();
  }
  double now = std::max(gathered, (d.timeline.pipeline.finish[s] - reducing).base());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const StepOpCost& op = costs[i];
    if (!syncs(op) || family_of(op.kind) == OpKind::all_gather) continue;
    const bool hides = hidden(op) > Seconds(0);
    const double start = d.timeline.step_end.starts[s][i].base();
    const StageRun* run = run_at(runs, hides ? now : start);
    if (run != nullptr && (hides || op.exposed > Seconds(0))) {
      TraceFlow flow{ops[i].name, {{{place.rank, kSlotsTrack}, run->start.base()}}};
      if (hides) flow.points.push_back({place, now});
      if (op.exposed > Seconds(0)) {
        flow.points.push_back({{place.rank, static_cast<int>(ops[i].stream)}, start});
      }
      trace.flows.push_back(std::move(flow));
    }
    if (!hides) continue;
    put(i, now);
    now += hidden(op).base();
  }
}

// Barriers: all stages start such an op together; the arrow comes from the stage that came last.
void draw_barriers(Trace& trace, const Program& program, const DrawnStep& d) {
  struct Arrival {
    TracePlace place;
    Seconds start, came;
  };
  std::map<std::string, std::vector<Arrival>> barriers;
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    Seconds came = d.timeline.pipeline.finish[s];
    for (std::size_t i = 0; i < program.stages[s].epilogue.size(); ++i) {
      const Op& op = program.stages[s].epilogue[i];
      const StepOpCost& cost = d.records[s]->epilogue[i];
      const Seconds start = d.timeline.step_end.starts[s][i];
      const bool waits =
          is_collective(op.kind) && (op.group == Group::world || op.group == Group::embedding);
      if (waits && cost.exposed > Seconds(0)) {
        const TracePlace place{trace_rank(program, s), static_cast<int>(op.stream)};
        barriers[op.name].push_back({place, start, came});
      }
      came = start + cost.exposed;
    }
  }
  for (const auto& [name, arrivals] : barriers) {
    const Arrival& last = *std::ranges::max_element(arrivals, {}, &Arrival::came);
    for (const Arrival& a : arrivals) {
      if (a.place == last.place) continue;
      trace.flows.push_back({name, {{last.place, last.start.base()}, {a.place, a.start.base()}}});
    }
  }
}

}  // namespace

void draw_sync(Trace& trace, const Program& program, const DrawnStep& d) {
  for (std::size_t s = 0; s < d.runs.size(); ++s) draw_stage(trace, program, d, s);
  draw_barriers(trace, program, d);
}

}  // namespace pleat
