// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/stage_record.hpp"

#include <algorithm>

namespace pleat {
namespace {

// Without sequence parallelism all ranks of a TP group hold the same tensor: each sends its share
// of it and the receivers gather (scatter_gather_tensors_in_pipeline of the Megatron of
// arXiv:2104.04473, DeepSpeed's partitioned tensors).
Seconds shared_send(const Op& send, const LayerProgram& layer, int tp, const Binding& binding,
                    const ClusterView& view, const Profile& profile) {
  std::vector<Tensor> tensors = layer.tensors;
  const TensorId whole = send.in.front(), piece{static_cast<int>(tensors.size())};
  tensors.push_back(tensors[whole.index()]);
  tensors.back().shape.front().n /= tp;
  Op part = send, gather;
  part.in = {piece};
  gather.kind = OpKind::all_gather;
  gather.group = Group::tp;
  gather.in = {piece};
  gather.out = {whole};
  return price_op(part, tensors, binding, view, profile).time +
         price_op(gather, tensors, binding, view, profile).time;
}

Seconds slowest_send(const CompiledFrom& from, const StageProgram& stage, const ClusterView& view,
                     const Profile& profile) {
  const int tp = from.plan.attention.tp;
  const bool shared =
      from.runtime == Runtime::megatron && tp > 1 && !from.plan.sequence_parallel;
  const Binding none;  // what travels does not depend on routing
  Seconds slowest;
  for (const LayerProgram& layer : stage.layers) {
    if (layer.kind != LayerKind::send && layer.kind != LayerKind::recv) continue;
    for (Pass pass : {Pass::forward, Pass::backward}) {
      for (const Op& op : layer.ops(pass)) {
        if (op.kind != OpKind::send) continue;
        const Seconds time =
            shared ? shared_send(op, layer, tp, none, view, profile)
                   : price_op(op, layer.tensors, none, view, profile).time;
        slowest = std::max(slowest, time);
      }
    }
  }
  return slowest;
}

SyncWindow sync_window(const Plan& plan, std::int64_t microbatches, const StageProgram& stage,
                       const StageRecord& record, const Profile& profile) {
  const StageCosts& costs = record.costs;
  const int pieces = sync_pieces(plan, stage);
  SyncWindow window{.forward = {},
                    .backward = {},
                    .pieces = pieces,
                    .beside_compute = lost_beside_sync(plan, profile),
                    .step = step_beside_gather(plan, after_norm(record.epilogue), pieces)};
  const double others = microbatches_beside_sync(plan, window.pieces, microbatches);
  for (const PassCost& chunk : costs.forward) window.forward += chunk.time * others;
  for (const PassCost& chunk : costs.backward) window.backward += chunk.time * others;
  return window;
}

SourceClass worst_source(const StageRecord& record) {
  SourceClass worst = SourceClass::measured;
  const StageCosts& costs = record.costs;
  for (const auto* passes :
       {&costs.forward, &costs.backward, &costs.input, &costs.weight, &costs.pairs}) {
    for (const PassCost& cost : *passes) worst = std::max(worst, cost.source);
  }
  for (const auto* ops : {&record.prologue, &record.epilogue}) {
    for (const StepOpCost& op : *ops) worst = std::max(worst, op.cost.source);
  }
  return worst;
}

StageHoldings holdings_of(const CompiledFrom& from, const StageProgram& stage) {
  const LayerRows rows(from.model, from.workload, from.plan);
  return {.state = state_bytes(stage),
          .epilogue_memory = epilogue_memory(stage),
          .runtime = runtime_bytes(from, stage),
          .graph_outputs = graph_outputs(from, stage),
          .offloaded = offloaded_activations(stage, rows)};
}

}  // namespace

PreparedStage::PreparedStage(const CompiledFrom& compiled_from, const StageProgram& stage)
    : from(compiled_from),
      program(stage),
      holdings(holdings_of(compiled_from, stage)),
      shards(shard_view(stage)) {}

StageRecord record_stage(const PreparedStage& stage, std::span<const LayerCosts* const> layers,
                         const PairSource& pair, const ClusterView& view, const Profile& profile) {
  const StageProgram& program = stage.program;
  const Plan& plan = stage.from.plan;
  StageRecord record;
  static_cast<StageHoldings&>(record) = stage.holdings;
  record.costs = sum_stage(program, layers, pair);
  record.prologue = price_step_ops(program, stage.shards, program.prologue, view, profile);
  record.epilogue = price_step_ops(program, stage.shards, program.epilogue, view, profile);
  // Pleat's executor runs the epilogue as it stands.
  if (stage.from.runtime == Runtime::megatron) {
    const std::int64_t microbatches = plan.microbatches(stage.from.workload.global_batch);
    hide_gradient_sync(record.epilogue, sync_window(plan, microbatches, program, record, profile),
                       plan.overlap);
  }
  record.transfer = slowest_send(stage.from, program, view, profile);
  record.source = worst_source(record);
  return record;
}

}  // namespace pleat
