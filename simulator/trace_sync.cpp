// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Gradient synchronisation in a predicted trace: what slots hide, what stays, who waits for whom.
#include <algorithm>
#include <map>
#include <string>

#include "simulator/trace_drawing.hpp"

namespace pleat {
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
