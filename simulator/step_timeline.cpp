// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/step_timeline.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/program/compile_stage.hpp"

namespace pleat {

std::vector<Seconds> slot_durations(const StageRecords& stages, const ScheduleTable& table) {
  std::vector<Seconds> durations;
  durations.reserve(stages.size() * static_cast<std::size_t>(table.kinds()));
  for (const auto& stage : stages) {
    for (const PassCost& chunk : stage->costs.forward) durations.push_back(chunk.time);
    for (const PassCost& chunk : stage->costs.backward) durations.push_back(chunk.time);
    for (const PassCost& chunk : stage->costs.input) durations.push_back(chunk.time);
    for (const PassCost& chunk : stage->costs.weight) durations.push_back(chunk.time);
    if (!table.paired) continue;
    for (const PassCost& pair : stage->costs.pairs) durations.push_back(pair.time);
  }
  return durations;
}

StageRecords record_stages(const Program& program, const ClusterView& view,
                           const Profile& profile) {
  const Binding routed = routed_tokens(program.model, program.workload, program.plan);
  StageRecords records;
  for (const StageProgram& stage : program.stages) {
    std::vector<LayerCosts> layers;
    layers.reserve(stage.layers.size());
    for (const LayerProgram& layer : stage.layers) {
      layers.push_back(price(layer, routed, routed, view, profile));
    }
    PairSource pair;
    std::map<std::pair<std::size_t, std::size_t>, PassCost> known;
    if (program.plan.overlap.expert_parallel) {
      pair = [&](std::size_t f, std::size_t b) {
        const auto [found, fresh] = known.try_emplace({f, b});
        if (fresh) {
          found->second = price_pair(stage.layers[f], stage.layers[b], routed, view, profile,
                                     program.plan.overlap.delay_wgrad);
        }
        return found->second;
      };
    }
    records.push_back(std::make_shared<const StageRecord>(
        record_stage(program, stage, std::move(layers), pair, view, profile)));
  }
  return records;
}

ScheduleTable table_of(const Program& program) {
  std::vector<std::vector<Slot>> orders;
  for (const StageProgram& stage : program.stages) orders.push_back(stage.order);
  return tabulate(schedule_of(program.plan, program.workload), std::move(orders));
}

StepTimeline run_step(const StageRecords& stages, const ScheduleTable& table, bool keep_starts) {
  StepTimeline step;
  Seconds transfer;
  for (const auto& stage : stages) {
    Seconds prologue;
    for (const StepOpCost& op : stage->prologue) prologue += op.exposed;
    step.prologue.push_back(prologue);
    transfer = std::max(transfer, stage->transfer);
  }
  const std::vector<Seconds> durations = slot_durations(stages, table);
  step.pipeline = time_table(table, durations, step.prologue, transfer, keep_starts);
  step.end_without_transfer =
      table.shape.pp > 1 && transfer > Seconds(0)
          ? time_table(table, durations, step.prologue, Seconds(0)).end
          : step.pipeline.end;
  std::vector<const std::vector<StepOpCost>*> epilogues;
  for (const auto& stage : stages) epilogues.push_back(&stage->epilogue);
  step.step_end = finish_step(epilogues, step.pipeline.finish, keep_starts);
  return step;
}

}  // namespace pleat
