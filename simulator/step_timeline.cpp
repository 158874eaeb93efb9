// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices every stage of a program and runs prologue, pipeline and epilogue.
#include "simulator/step_timeline.hpp"

#include <algorithm>

namespace pleat {
namespace {

// Routed tokens of the slowest rank. Forced routing balances exactly; an expert takes no more than
// its capacity, and exactly that when short ones are padded.
Binding routed_tokens(const Program& program) {
  if (!program.model.moe) return {};
  const WorkloadSpec& w = program.workload;
  double imbalance = w.routing == Routing::natural ? w.imbalance : 1.0;
  if (w.capacity_factor > 0) {
    imbalance = w.pad_to_capacity ? w.capacity_factor : std::min(imbalance, w.capacity_factor);
  }
  return {.routed =
              balanced_routed_tokens(program.model, program.workload, program.plan, imbalance)};
}

// The slowest send of any layer; zero where stages exchange nothing.
Seconds transfer_time(const StepTimeline& step, const Program& program, const Profile& profile) {
  Seconds slowest;
  for (const StageProgram& stage : program.stages) {
    for (const LayerProgram& layer : stage.layers) {
      for (Pass pass : {Pass::forward, Pass::backward}) {
        for (const Op& op : layer.ops(pass)) {
          if (op.kind != OpKind::send) continue;
          slowest = std::max(slowest, price_op(op, layer.tensors, step.expected, step.view,
                                               profile).time);
        }
      }
    }
  }
  return slowest;
}

// Pieces the gradients of a stage are reduced in: a bucket per chunk; several only on the first
// stage's first chunk, of max(40M, 1M * D) elements (Megatron distributed_data_parallel.py).
SyncWindow sync_window(const Program& program, const StageProgram& stage, const StageCosts& costs) {
  SyncWindow window{.forward = {}, .backward = {}, .pieces = program.plan.vpp};
  if (program.plan.vpp == 1 && stage.stage.value == 0) {
    const std::int64_t bucket =
        std::max<std::int64_t>(40'000'000, 1'000'000LL * program.plan.attention.dp);
    std::int64_t elements = 0;
    for (const BucketState& b : stage.buckets) elements += b.elements;
    window.pieces = static_cast<int>(std::max<std::int64_t>(1, (elements + bucket - 1) / bucket));
  }
  const double others = static_cast<double>(window.pieces - 1) / window.pieces;
  for (const PassCost& chunk : costs.forward) window.forward += chunk.time * others;
  for (const PassCost& chunk : costs.backward) window.backward += chunk.time * others;
  return window;
}

void run_slots(StepTimeline& step, const Program& program, bool keep_events) {
  std::vector<std::vector<ChunkTimes>> times;
  PipelineInput input{.pp = program.plan.attention.pp,
                      .vpp = program.plan.vpp,
                      .microbatches = static_cast<int>(
                          program.plan.microbatches(program.workload.global_batch)),
                      .times = &times,
                      .transfer = step.transfer,
                      .keep_events = keep_events};
  for (std::size_t s = 0; s < step.stages.size(); ++s) {
    const StageCosts& costs = step.stages[s];
    times.emplace_back();
    for (std::size_t c = 0; c < costs.forward.size(); ++c) {
      times.back().push_back({costs.forward[c].time, costs.backward[c].time});
    }
    if (!costs.pairs.empty()) {
      input.pairs.emplace_back();
      for (const PassCost& pair : costs.pairs) input.pairs.back().push_back(pair.time);
    }
    Seconds prologue;
    for (StepOpCost& op : step.prologue[s]) {
      op.start = prologue;
      prologue += op.exposed;
    }
    input.start.push_back(prologue);
    input.orders.push_back(&program.stages[s].order);
  }
  step.pipeline = run_pipeline(input);
  step.pipeline_end_without_transfer = step.pipeline.end;
  if (input.pp > 1 && step.transfer > Seconds(0)) {
    input.transfer = Seconds(0);
    input.keep_events = false;
    step.pipeline_end_without_transfer = run_pipeline(input).end;
  }
}

}  // namespace

StepTimeline price_step(const Program& program, const ClusterSpec& cluster, const Profile& profile,
                        bool keep_events) {
  StepTimeline step;
  step.view = view_cluster(cluster, program.plan);
  step.expected = step.capacity = routed_tokens(program);
  for (const StageProgram& stage : program.stages) {
    step.stages.push_back(price_stage(stage, step.expected, step.capacity, step.view, profile,
                                      program.plan.overlap));
    step.prologue.push_back(price_step_ops(stage, stage.prologue, step.view, profile));
    step.epilogue.push_back(price_step_ops(stage, stage.epilogue, step.view, profile));
    if (program.runtime == Runtime::megatron) {  // Pleat's executor runs the epilogue as it stands
      hide_gradient_sync(step.epilogue.back(), sync_window(program, stage, step.stages.back()),
                         program.plan.overlap);
    }
  }
  step.transfer = transfer_time(step, program, profile);
  run_slots(step, program, keep_events);
  step.step_end = finish_step(step.epilogue, step.pipeline.finish);
  return step;
}

}  // namespace pleat
