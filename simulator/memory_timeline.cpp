// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory_timeline.hpp"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

// What a layer's forward pass adds to the live bytes by its end, by the module that wrote it. Its
// input was written by the layer before, on the residual stream.
void add_kept(ModuleBytes& kept, const LayerProgram& layer, const Binding& binding) {
  const Binding rows{.routed = binding.stashed > 0 ? binding.stashed : binding.routed};
  for (const Lifetime& life : layer.lives) {
    const bool dies_forward = life.end && life.end->pass == Pass::forward;
    const bool born_forward = life.begin && life.begin->pass == Pass::forward;
    const std::int64_t bytes = layer.tensor(life.tensor).bytes(rows);
    if (born_forward && !dies_forward) {
      const Op& writer = layer.forward[static_cast<std::size_t>(life.begin->op)];
      kept[static_cast<std::size_t>(writer.module)] += bytes;
    } else if (!life.begin && dies_forward) {
      kept[static_cast<std::size_t>(Module::residual)] -= bytes;
    }
  }
}

std::vector<ModuleBytes> kept_by_chunk(const StageProgram& stage, const LayerRows& rows) {
  std::vector<ModuleBytes> layers;
  for (const LayerProgram& layer : stage.layers) {
    add_kept(layers.emplace_back(), layer, rows.of(layer));
  }
  std::vector<ModuleBytes> chunks;
  for (const ChunkProgram& chunk : stage.chunks) {
    ModuleBytes& sum = chunks.emplace_back();
    for (const LayerInstance& i : chunk.instances) {
      const ModuleBytes& layer = layers[static_cast<std::size_t>(i.program)];
      for (std::size_t m = 0; m < kModules; ++m) sum[m] += layer[m];
    }
  }
  return chunks;
}

// What of the step a stage's timeline is read off.
struct Parts {
  const Program& program;
  const StageRecords& records;
  const ScheduleTable& table;
  const StepTimeline& step;
};

StageMemoryTimeline stage_timeline(const Parts& parts, std::size_t index) {
  const StageProgram& stage = parts.program.stages[index];
  const StageRecord& record = *parts.records[index];
  const StageCosts& costs = record.costs;
  StageMemoryTimeline line;
  line.stage = stage.stage;
  line.state = record.state;
  line.runtime = record.runtime;
  line.runtime.allocated += most_in_flight(parts.table.work[index], record.graph_outputs,
                                           parts.table.slot_work().split);
  const std::vector<ModuleBytes> chunks = kept_by_chunk(
      stage, LayerRows(parts.program.model, parts.program.workload, parts.program.plan));
  ModuleBytes kept{};
  std::int64_t live = 0;
  const auto move = [&](const Slot& slot) {
    if (slot.part == SlotPart::input_gradients) return;  // the weight gradients end the pass
    const int sign = slot.pass == Pass::forward ? 1 : -1;
    for (std::size_t m = 0; m < kModules; ++m) kept[m] += sign * chunks[slot.chunk.index()][m];
  };
  for (std::size_t i = 0; i < parts.table.steps.size(); ++i) {
    const ScheduleTable::Step& step = parts.table.steps[i];
    if (step.stage != stage.stage.value) continue;
    const auto at = static_cast<std::size_t>(step.slot);
    MemoryMoment moment;
    moment.slot = stage.order[at];
    moment.paired = step.output[1] >= 0;
    moment.start = parts.step.pipeline.starts[i];
    const PassCost& cost =
        moment.paired ? costs.pair(moment.slot.chunk, stage.order[at + 1].chunk)
                      : costs.of(moment.slot);
    move(moment.slot);
    if (moment.paired) move(stage.order[at + 1]);
    moment.peak = live + cost.memory.peak;
    live += cost.memory.net;
    moment.live = live;
    moment.end = moment.start + cost.time;
    moment.kept = kept;
    line.moments.push_back(moment);
  }
  line.step_peak = record.epilogue_memory.peak;
  return line;
}

}  // namespace

std::int64_t MemoryMoment::kept_bytes() const {
  return std::accumulate(kept.begin(), kept.end(), std::int64_t{0});
}

std::vector<StageMemoryTimeline> memory_timeline(const Program& program, const ClusterSpec& cluster,
                                                 const Profile& profile) {
  const Profile warm = warm_profile(program, cluster, profile);
  const StageRecords records = record_stages(program, view_cluster(cluster, program.plan), warm);
  const ScheduleTable table = table_of(program);
  const StepTimeline step = run_step(records, table, true);
  std::vector<StageMemoryTimeline> stages;
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    stages.push_back(stage_timeline({program, records, table, step}, s));
  }
  return stages;
}

namespace {

const char* name_of(const MemoryMoment& m) {
  if (m.paired) return "pair";
  switch (m.slot.part) {
    case SlotPart::whole: return m.slot.pass == Pass::forward ? "fwd" : "bwd";
    case SlotPart::input_gradients: return "bwd_input";
    case SlotPart::weight_gradients: return "bwd_weight";
  }
  return "?";
}

}  // namespace

std::string memory_timeline_json(const std::vector<StageMemoryTimeline>& stages,
                                 const Program& program) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const StageMemoryTimeline& line : stages) {
    const std::int64_t constant = line.state.total() + line.runtime.allocated;
    Json moments = Json::array();
    for (const MemoryMoment& m : line.moments) {
      Json kept = Json::object();
      for (std::size_t i = 0; i < kModules; ++i) {
        if (m.kept[i] != 0) kept[name_of(static_cast<Module>(i))] = m.kept[i];
      }
      moments.push_back({{"start_s", m.start.base()},
                         {"end_s", m.end.base()},
                         {"pass", name_of(m)},
                         {"chunk", m.slot.chunk.value},
                         {"microbatch", m.slot.microbatch.value},
                         {"kept", std::move(kept)},
                         {"activations", m.live},
                         {"peak_activations", m.peak},
                         {"peak_allocated", constant + m.peak},
                         {"peak_device", constant + line.runtime.outside + m.peak}});
    }
    list.push_back({{"stage", line.stage.value},
                    {"constant",
                     {{"weights", line.state.weights},
                      {"gradients", line.state.gradients},
                      {"optimizer", line.state.optimizer},
                      {"other", line.state.other},
                      {"buffers", line.runtime.allocated},
                      {"outside", line.runtime.outside},
                      {"host", line.state.host}}},
                    {"step_peak", line.step_peak},
                    {"moments", std::move(moments)}});
  }
  const Json json = {{"schema_version", 1},
                     {"model", program.model.name},
                     {"plan", summary(program.plan)},
                     {"stages", std::move(list)}};
  return json.dump(1) + "\n";
}

}  // namespace pleat
