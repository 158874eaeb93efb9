// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The predicted timeline op by op, under the keys the executor uses for the measured one.
#include <algorithm>

#include "simulator/layer_timeline.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

bool is_transfer(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

class StageTrace {
 public:
  StageTrace(const Program& program, const ClusterView& view, std::size_t stage,
             const Profile& profile, std::vector<Span>& spans)
      : view_(view),
        routed_(routed_tokens(program.model, program.workload, program.plan)),
        stage_(program.stages[stage]), profile_(profile), spans_(spans),
        rank_(stage_.stage.value * (program.plan.world() / program.plan.attention.pp)),
        delay_wgrad_(program.plan.overlap.delay_wgrad) {
    for (const LayerProgram& layer : stage_.layers) {
      for (Pass pass : {Pass::forward, Pass::backward}) {
        passes_[static_cast<std::size_t>(pass)].push_back(
            pass_timeline(layer, pass, routed_, view, profile));
      }
      if (!layer.weight_ops) continue;
      for (const SlotPart part : {SlotPart::input_gradients, SlotPart::weight_gradients}) {
        parts_[static_cast<std::size_t>(part) - 1].push_back(
            part_timeline(layer, part, routed_, view, profile));
      }
    }
  }

  // `costs` and `starts` are parallel to `ops`.
  void add_step_ops(const std::vector<Op>& ops, const std::vector<StepOpCost>& costs,
                    const std::vector<Seconds>& starts) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      spans_.push_back({.key = {.stage = stage_.stage.value, .op = ops[i].name},
                        .rank = rank_,
                        .stream = ops[i].stream,
                        .start_s = starts[i].base(),
                        .duration_s = costs[i].exposed.base(),
                        .category = name_of(ops[i].module),
                        .bytes = static_cast<std::int64_t>(costs[i].cost.bytes.base())});
    }
  }

  void add_slot(const Slot& slot, Seconds start) {
    const auto& instances = stage_.chunks[slot.chunk.index()].instances;
    const int count = static_cast<int>(instances.size());
    for (int i = 0; i < count; ++i) {
      const int at = slot.pass == Pass::forward ? i : count - 1 - i;
      start += add_layer(slot, at, start);
    }
  }

  void add_pair(const Slot& forward, const Slot& backward, Seconds start) {
    for (const PairedPosition& at : pair_positions(stage_, forward.chunk, backward.chunk)) {
      if (at.forward < 0 || at.backward < 0) {
        start += at.forward < 0 ? add_layer(backward, at.backward, start)
                                : add_layer(forward, at.forward, start);
        continue;
      }
      const LayerTimeline line =
          pair_timeline(program_at(forward, at.forward), program_at(backward, at.backward),
                        routed_, view_, profile_, delay_wgrad_);
      for (std::size_t i = 0; i < line.steps.size(); ++i) {
        const bool f = line.steps[i].pass == Pass::forward;
        add_op(f ? forward : backward, f ? at.forward : at.backward, line, i, start);
      }
      start += line.time();
    }
  }

 private:
  [[nodiscard]] const LayerInstance& instance_at(const Slot& slot, int position) const {
    return stage_.chunks[slot.chunk.index()].instances[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] const LayerProgram& program_at(const Slot& slot, int position) const {
    return stage_.program(instance_at(slot, position));
  }

  Seconds add_layer(const Slot& slot, int position, Seconds start) {
    const auto program = static_cast<std::size_t>(instance_at(slot, position).program);
    const LayerTimeline& line = slot.part == SlotPart::whole
                                    ? passes_[static_cast<std::size_t>(slot.pass)][program]
                                    : parts_[static_cast<std::size_t>(slot.part) - 1][program];
    for (std::size_t i = 0; i < line.steps.size(); ++i) add_op(slot, position, line, i, start);
    return line.time();
  }

  void add_op(const Slot& slot, int position, const LayerTimeline& line, std::size_t i,
              Seconds layer_start) {
    const PairStep& step = line.steps[i];
    const Op& op = program_at(slot, position).ops(step.pass)[static_cast<std::size_t>(step.op)];
    const OpCost& cost = line.costs[i];
    const Seconds start = layer_start + line.streams.start[i];
    const Seconds duration =
        is_transfer(op) ? cost.time : line.streams.finish[i] - line.streams.start[i];
    // A transfer runs beside the slots; what arrives was under way before the slot began.
    const bool arrives = op.kind == OpKind::recv;
    spans_.push_back(
        {.key = {.stage = stage_.stage.value,
                 .microbatch = slot.microbatch.value,
                 .chunk = slot.chunk.value,
                 .layer = instance_at(slot, position).layer.value,
                 .pass = slot.pass,
                 .op = op.name},
         .rank = rank_,
         .stream = is_transfer(op) ? Stream::comm : step.stream,
         .start_s = std::max(0.0, (arrives ? start - cost.time : start).base()),
         .duration_s = duration.base(),
         .category = name_of(op.module),
         .bytes = static_cast<std::int64_t>(cost.bytes.base())});
  }

  const ClusterView& view_;
  Binding routed_;
  const StageProgram& stage_;
  const Profile& profile_;
  std::vector<Span>& spans_;
  int rank_;
  bool delay_wgrad_;
  std::vector<LayerTimeline> passes_[2];  // [pass][layer program]
  std::vector<LayerTimeline> parts_[2];   // [input, weight gradients][layer program]
};

}  // namespace

Trace predicted_trace(const Program& program, const ClusterSpec& cluster, const Profile& burst,
                      int max_microbatches) {
  const Profile profile = warm_profile(program, cluster, burst);
  const ClusterView view = view_cluster(cluster, program.plan);
  const StageRecords records = record_stages(program, view, profile);
  const ScheduleTable table = table_of(program);
  const StepTimeline step = run_step(records, table, true);
  Trace trace{.kind = "predicted",
              .model = program.model.name,
              .cluster = cluster.name,
              .plan = summary(program.plan),
              .spans = {}};
  Seconds end;
  for (Seconds s : step.step_end.end) end = std::max(end, s);
  trace.step_s = (end + profile.step_overhead).base();
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    const StageProgram& stage = program.stages[s];
    trace.peak_bytes =
        std::max(trace.peak_bytes, stage_memory(stage.stage, *records[s], table.work[s]).peak);
    StageTrace out(program, view, s, profile, trace.spans);
    std::vector<Seconds> starts;
    Seconds at;
    for (const StepOpCost& op : records[s]->prologue) {
      starts.push_back(at);
      at += op.exposed;
    }
    out.add_step_ops(stage.prologue, records[s]->prologue, starts);
    for (std::size_t i = 0; i < table.steps.size(); ++i) {
      if (table.steps[i].stage != stage.stage.value) continue;
      const auto at_slot = static_cast<std::size_t>(table.steps[i].slot);
      const bool paired = table.steps[i].output[1] >= 0;
      const Slot& slot = stage.order[at_slot];
      const Slot& other = stage.order[paired ? at_slot + 1 : at_slot];
      const auto shown = [&](const Slot& x) { return x.microbatch.value < max_microbatches; };
      if (!shown(slot) || !shown(other)) continue;
      paired ? out.add_pair(slot, other, step.pipeline.starts[i])
             : out.add_slot(slot, step.pipeline.starts[i]);
    }
    out.add_step_ops(stage.epilogue, records[s]->epilogue, step.step_end.starts[s]);
  }
  return trace;
}

}  // namespace pleat
