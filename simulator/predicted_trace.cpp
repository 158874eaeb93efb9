// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The predicted timeline op by op, under the keys the executor uses for the measured one.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "simulator/core_sharing.hpp"
#include "simulator/layer_timeline.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/trace_drawing.hpp"

namespace pleat {
namespace {

bool moves_between_stages(const Op& op) {
  return op.kind == OpKind::send || op.kind == OpKind::recv;
}

std::string layer_name(const LayerProgram& program, int layer) {
  switch (program.kind) {
    case LayerKind::embedding:
      return "embedding";
    case LayerKind::dense:
      return fmt::format("layer {} dense", layer);
    case LayerKind::moe:
      return fmt::format("layer {} moe", layer);
    case LayerKind::mtp:
      return program.depth == 0 ? "mtp" : fmt::format("mtp {}", program.depth);
    case LayerKind::head:
      return "head";
    case LayerKind::recv:
      return "receive";
    case LayerKind::send:
      return "send";
  }
  return "?";
}

// Spans of transfers by cell of the schedule, for the arrows between them.
struct Transfers {
  std::vector<double> sent;           // by cell: end of the slot that wrote it
  std::vector<std::ptrdiff_t> sends;  // by cell: span; -1: none is shown
  struct Receive {
    std::size_t span = 0, cell = 0;
    double consumed_s = 0;
  };
  std::vector<Receive> receives;
};

class StageTrace {
 public:
  StageTrace(const Program& program, const ClusterView& view, std::size_t stage,
             const Profile& profile, Trace& trace, Transfers& transfers)
      : view_(view),
        rows_(program.model, program.workload, program.plan),
        stage_(program.stages[stage]),
        profile_(profile),
        trace_(trace),
        transfers_(transfers),
        rank_(trace_rank(program, stage)),
        delay_wgrad_(program.plan.overlap.delay_wgrad) {
    for (const LayerProgram& layer : stage_.layers) {
      priced_.push_back(price_ops(layer, rows_.of(layer), view, profile));
      const TimedLayer timed{layer, priced_.back()};
      for (Pass pass : {Pass::forward, Pass::backward}) {
        passes_[static_cast<std::size_t>(pass)].push_back(
            pass_timeline(timed, pass, view, profile));
      }
      if (!layer.weight_ops) continue;
      for (const SlotPart part : {SlotPart::input_gradients, SlotPart::weight_gradients}) {
        parts_[static_cast<std::size_t>(part) - 1].push_back(
            part_timeline(timed, part, view, profile));
      }
    }
  }

  // `costs` and `starts` are parallel to `ops`.
  void add_step_ops(const std::vector<Op>& ops, const std::vector<StepOpCost>& costs,
                    const std::vector<Seconds>& starts) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      trace_.spans.push_back({.key = {.stage = stage_.stage.value, .op = ops[i].name},
                              .rank = rank_,
                              .stream = ops[i].stream,
                              .start_s = starts[i].base(),
                              .duration_s = costs[i].exposed.base(),
                              .category = name_of(ops[i].module),
                              .bytes = static_cast<std::int64_t>(costs[i].cost.bytes.base())});
    }
  }

  void add_run(const StageRun& run) {
    run_ = &run;
    Seconds now = run.start;
    if (run.slots[1] != nullptr) {
      add_pair(*run.slots[0], *run.slots[1], now);
      return;
    }
    const Slot& slot = *run.slots[0];
    const int count = static_cast<int>(instances(slot).size());
    for (int i = 0; i < count; ++i) {
      now += add_layer(slot, slot.pass == Pass::forward ? i : count - 1 - i, now);
    }
  }

 private:
  [[nodiscard]] const std::vector<LayerInstance>& instances(const Slot& slot) const {
    return stage_.chunks[slot.chunk.index()].instances;
  }
  [[nodiscard]] const LayerInstance& instance_at(const Slot& slot, int position) const {
    return instances(slot)[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] const LayerProgram& program_at(const Slot& slot, int position) const {
    return stage_.program(instance_at(slot, position));
  }
  [[nodiscard]] const PricedLayer& priced_at(const Slot& slot, int position) const {
    return priced_[static_cast<std::size_t>(instance_at(slot, position).program)];
  }
  [[nodiscard]] std::string name_at(const Slot& slot, int position) const {
    return layer_name(program_at(slot, position), instance_at(slot, position).layer.value);
  }

  void add_pair(const Slot& forward, const Slot& backward, Seconds now) {
    for (const PairedPosition& at : pair_positions(stage_, forward.chunk, backward.chunk)) {
      if (at.forward < 0 || at.backward < 0) {
        now += at.forward < 0 ? add_layer(backward, at.backward, now)
                              : add_layer(forward, at.forward, now);
        continue;
      }
      const LayerTimeline& line = pair_line(forward, at.forward, backward, at.backward);
      for (std::size_t i = 0; i < line.steps.size(); ++i) {
        const bool f = line.steps[i].pass == Pass::forward;
        add_op(f ? forward : backward, f ? at.forward : at.backward, line, i, now);
      }
      add_slice(name_at(forward, at.forward) + " F, " + name_at(backward, at.backward) + " B", now,
                line.time());
      now += line.time();
    }
  }

  const LayerTimeline& pair_line(const Slot& forward, int f, const Slot& backward, int b) {
    const std::pair programs{instance_at(forward, f).program, instance_at(backward, b).program};
    const auto found = pairs_.find(programs);
    if (found != pairs_.end()) return found->second;
    const auto timed = [&](const Slot& slot, int position) {
      return TimedLayer{program_at(slot, position), priced_at(slot, position)};
    };
    return pairs_
        .emplace(programs, pair_timeline(timed(forward, f), timed(backward, b), view_, profile_,
                                         delay_wgrad_))
        .first->second;
  }

  Seconds add_layer(const Slot& slot, int position, Seconds start) {
    const auto program = static_cast<std::size_t>(instance_at(slot, position).program);
    const LayerTimeline& line = slot.part == SlotPart::whole
                                    ? passes_[static_cast<std::size_t>(slot.pass)][program]
                                    : parts_[static_cast<std::size_t>(slot.part) - 1][program];
    for (std::size_t i = 0; i < line.steps.size(); ++i) add_op(slot, position, line, i, start);
    if (line.time() > Seconds(0)) add_slice(name_at(slot, position), start, line.time());
    return line.time();
  }

  void add_slice(std::string name, Seconds start, Seconds duration) {
    const double end = std::min((start + duration).base(), run_->end.base());
    trace_.slices.push_back(
        {{rank_, kSlotsTrack}, start.base(), std::max(0.0, end - start.base()), std::move(name)});
  }

  void add_op(const Slot& slot, int position, const LayerTimeline& line, std::size_t i,
              Seconds layer_start) {
    const PairStep& step = line.steps[i];
    const Op& op = program_at(slot, position).ops(step.pass)[static_cast<std::size_t>(step.op)];
    const OpCost& cost = line.costs[i];
    Span span{.key = {.stage = stage_.stage.value,
                      .microbatch = slot.microbatch.value,
                      .chunk = slot.chunk.value,
                      .layer = instance_at(slot, position).layer.value,
                      .pass = slot.pass,
                      .op = op.name},
              .rank = rank_,
              .stream = step.stream,
              .start_s = (layer_start + line.streams.start[i]).base(),
              .duration_s = (line.streams.finish[i] - line.streams.start[i]).base(),
              .category = name_of(op.module),
              .bytes = static_cast<std::int64_t>(cost.bytes.base())};
    if (moves_between_stages(op)) place_transfer(op, slot, cost, span);
    trace_.spans.push_back(std::move(span));
  }

  // A transfer runs beside the slots, from the end of the slot that made the tensor.
  void place_transfer(const Op& op, const Slot& slot, const OpCost& cost, Span& span) {
    const std::size_t index = trace_.spans.size();
    const int of_pair = run_->slots[1] != nullptr && slot == *run_->slots[1] ? 1 : 0;
    span.stream = Stream::comm;
    span.duration_s = cost.time.base();
    if (op.kind == OpKind::send) {
      span.track = kSendTrack;
      span.start_s = run_->end.base();
      transfers_.sends[static_cast<std::size_t>(run_->step->output[of_pair])] =
          static_cast<std::ptrdiff_t>(index);
      return;
    }
    span.track = kReceiveTrack;
    if (!run_->step->travels[of_pair]) {  // the neighbour is this stage
      span.duration_s = 0;
      return;
    }
    const auto cell = static_cast<std::size_t>(run_->step->input[of_pair]);
    span.start_s = transfers_.sent[cell];
    transfers_.receives.push_back({index, cell, run_->start.base()});
  }

  const ClusterView& view_;
  LayerRows rows_;
  const StageProgram& stage_;
  const Profile& profile_;
  Trace& trace_;
  Transfers& transfers_;
  int rank_;
  bool delay_wgrad_;
  const StageRun* run_ = nullptr;
  std::vector<PricedLayer> priced_;                     // [layer program]
  std::vector<LayerTimeline> passes_[2];                // [pass][layer program]
  std::vector<LayerTimeline> parts_[2];                 // [input, weight gradients][layer program]
  std::map<std::pair<int, int>, LayerTimeline> pairs_;  // by programs of forward and backward
};

bool shown(const StageRun& run, int max_microbatches) {
  return run.slots[0]->microbatch.value < max_microbatches &&
         (run.slots[1] == nullptr || run.slots[1]->microbatch.value < max_microbatches);
}

Transfers no_transfers(const DrawnStep& d) {
  Transfers t;
  t.sent.resize(static_cast<std::size_t>(d.table.cells));
  t.sends.assign(t.sent.size(), -1);
  for (const auto& runs : d.runs) {
    for (const StageRun& run : runs) {
      for (const std::int32_t cell : run.step->output) {
        if (cell >= 0) t.sent[static_cast<std::size_t>(cell)] = run.end.base();
      }
    }
  }
  return t;
}

// Receives whose send is shown too.
std::vector<Transfer> joined(const Transfers& transfers) {
  std::vector<Transfer> list;
  for (const Transfers::Receive& r : transfers.receives) {
    const std::ptrdiff_t send = transfers.sends[r.cell];
    if (send >= 0) list.push_back({static_cast<std::size_t>(send), r.span, r.consumed_s});
  }
  return list;
}

// Every time of the trace as it is with the cores that waiting ranks leave to others.
void share_cores(Trace& trace, const CoreSharing& sharing) {
  const auto at = [&](double seconds) { return sharing(Seconds(seconds)).base(); };
  const auto map = [&](auto& drawn) {
    const double start = at(drawn.start_s);
    drawn.duration_s = at(drawn.start_s + drawn.duration_s) - start;
    drawn.start_s = start;
  };
  for (Span& span : trace.spans) map(span);
  for (TraceSlice& slice : trace.slices) map(slice);
  for (TraceFlow& flow : trace.flows) {
    for (auto& point : flow.points) point.second = at(point.second);
  }
  for (TraceCounter& counter : trace.memory) counter.at_s = at(counter.at_s);
  trace.step_s = at(trace.step_s);
}

}  // namespace

Trace predicted_trace(const Program& program, const ClusterSpec& cluster, const Profile& burst,
                      int max_microbatches) {
  const Profile profile = warm_profile(program, cluster, burst);
  const ClusterView view = view_cluster(cluster, program.plan);
  DrawnStep d{.records = record_stages(program, view, profile),
              .table = table_of(program),
              .timeline = {},
              .straggling = {},
              .prologue_starts = {},
              .runs = {}};
  d.timeline = run_step(d.records, d.table, true);
  find_runs(d);
  Trace trace;
  trace.kind = "predicted";
  trace.model = program.model.name;
  trace.cluster = cluster.name;
  trace.plan = summary(program.plan);
  Seconds end;
  for (Seconds s : d.timeline.step_end.end) end = std::max(end, s);
  d.straggling = d.timeline.pipeline.end *
                 slowest_excess(program.workload, profile, cluster, program.plan.world());
  trace.step_s = (end + profile.step_overhead + d.straggling).base();

  draw_slots(trace, program, d);
  Transfers transfers = no_transfers(d);
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    const StageProgram& stage = program.stages[s];
    const StageRecord& record = *d.records[s];
    trace.peak_bytes =
        std::max(trace.peak_bytes, stage_memory(stage.stage, record, d.table.work[s]).peak);
    if (program.stages.size() > 1) {
      trace.rank_names[trace_rank(program, s)] =
          fmt::format("rank {} (stage {})", trace_rank(program, s), s);
    }
    StageTrace out(program, view, s, profile, trace, transfers);
    out.add_step_ops(stage.prologue, record.prologue, d.prologue_starts[s]);
    for (const StageRun& run : d.runs[s]) {
      if (shown(run, max_microbatches)) out.add_run(run);
    }
    out.add_step_ops(stage.epilogue, record.epilogue, d.timeline.step_end.starts[s]);
  }
  draw_transfers(trace, joined(transfers));
  draw_sync(trace, program, d);
  draw_memory(trace, program, d);
  const int ranks = program.plan.world();
  if (frees_cores(cluster, ranks, d.records.size())) {
    share_cores(trace, {d.records, d.table, d.timeline, cluster.shared_cores, ranks});
  }
  return trace;
}

}  // namespace pleat
