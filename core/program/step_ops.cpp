// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What comes before the first slot and after the last one: clearing, sums of gradients, norm, clip,
// the optimizers' steps, biases of experts.
#include "core/program/step_ops.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/rank_map.hpp"
#include "core/program/amax_buffers.hpp"
#include "core/program/bucket_sync.hpp"
#include "core/program/optimizer_step.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

// With fewer key and value heads than ranks, those that hold the same one have a part of its
// gradient each. (Megatron keeps no copies: it gathers the projection's output.)
void sum_shared_heads(StageProgram& stage, const BucketState& b, const std::string& name) {
  for (const Copies& c : b.copies) {
    if (!c.heads) continue;
    Op op = step_op(OpKind::all_reduce_replicated, name + ".kv_sync", Module::grad_sync,
                    {b.gradients}, {b.gradients}, Group::tp);
    op.attr.first = c.first;
    op.attr.n = {c.elements};
    op.attr.run = c.ranks;
    stage.epilogue.push_back(op);
  }
}

// Experts with copies on several ranks of ep, where the plan places them so. A rank sends as much
// as it has copies, on average.
void exchange_copies(StageProgram& stage, const ModelSpec& model, const Plan& plan,
                     std::size_t bucket, OpKind kind, const std::string& what, TensorId tensor) {
  const std::int64_t redundant = plan.expert.redundant;
  if (redundant == 0 || bucket % 2 == 0) return;
  const std::int64_t each =
      stage.buckets[bucket].elements / plan.expert.local(model.moe->experts);
  Op op = step_op(kind, bucket_name(bucket) + what, Module::grad_sync, {tensor}, {tensor},
                  Group::ep);
  op.attr.n = {redundant * each};
  stage.epilogue.push_back(std::move(op));
}

// Megatron clears all gradients (DistributedDataParallel.zero_grad_buffer).
void clear_gradients(StageProgram& stage, const BucketState& b, const std::string& name,
                     Runtime runtime) {
  const auto clear = [&](const std::string& suffix) -> Op& {
    stage.prologue.push_back(
        step_op(OpKind::zero, name + suffix, Module::optimizer, {}, {b.gradients}));
    return stage.prologue.back();
  };
  if (runtime == Runtime::megatron) {
    clear(".zero_grad");
    return;
  }
  const std::int64_t all = stage.state[b.gradients.index()].elements({});
  for (std::size_t i = 0; i < b.cleared.size(); ++i) {
    Op& op = clear(i == 0 ? ".zero_grad" : ".zero_grad." + std::to_string(i));
    if (b.cleared[i].elements < all) clear_part(op, b.cleared[i]);
  }
}

// The stage's embedding table, which all that share it have once.
std::optional<SharedTable> table_of(const StageProgram& stage) {
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const Weight& w = layer.weights[i];
        if (!is_table(layer, w)) continue;
        const WeightSlot slot = instance.slots.empty() ? WeightSlot{} : instance.slots[i];
        return SharedTable{slot, w.elements, true, {}};
      }
    }
  }
  return {};
}

Op sum_of_table(const StageProgram& stage) {
  const TensorId sums = stage.buckets[0].gradients;
  Op op = step_op(OpKind::all_reduce_replicated, "table.grad_sync", Module::grad_sync, {sums},
                  {sums}, Group::embedding);
  op.attr.first = stage.table->slot.offset;
  op.attr.n = {stage.table->elements};
  op.attr.run = static_cast<std::int64_t>(stage.table->stages.size());
  return op;
}

bool holds_input_layer(const StageProgram& stage) {
  return std::ranges::any_of(stage.chunks, [&stage](const ChunkProgram& chunk) {
    return std::ranges::any_of(chunk.instances, [&stage](const LayerInstance& instance) {
      return stage.program(instance).kind == LayerKind::embedding;
    });
  });
}

// Tokens of all ranks of the stage, then the biases (DeepSeek-V3, arXiv:2412.19437 section 2.1.2).
void update_biases(StageProgram& stage, const ModelSpec& model, const Plan& plan) {
  const BucketState& b = stage.buckets[0];
  const std::int64_t biases = b.bias_elements;
  const std::int64_t loads = b.buffer_elements - biases - all_amax_elements(b.amax_elements);
  if (loads == 0) return;
  const auto on_loads = [&](Op op) {
    op.attr.first = biases;
    op.attr.n = {loads};
    return op;
  };
  stage.prologue.push_back(
      on_loads(step_op(OpKind::zero, "zero.load", Module::router, {}, {b.buffers})));
  const auto add_up = [&](const std::string& name, Group group) {
    stage.epilogue.push_back(on_loads(
        step_op(OpKind::all_reduce, name, Module::router, {b.buffers}, {b.buffers}, group)));
  };
  if (plan.attention.tp > 1 && plan.sequence_parallel) add_up("load.tp", Group::tp);
  if (group_size(plan, Group::dp_cp) > 1) add_up("load.dp_cp", Group::dp_cp);
  if (group_size(plan, Group::copies) > 1) add_up("load.copies", Group::copies);
  Op op = step_op(OpKind::update_bias, "update_bias", Module::router, {b.buffers}, {b.buffers});
  op.attr.n = {biases};
  op.attr.experts = model.moe->experts;
  op.attr.scale = model.moe->bias_update;
  stage.epilogue.push_back(op);
}

}  // namespace

void add_step_ops(StageProgram& stage, const ModelSpec& model, const Plan& plan, Runtime runtime,
                  const std::vector<Stage>& table_stages) {
  if (!table_stages.empty()) {
    stage.table = table_of(stage);
    PLEAT_ASSERT(stage.table.has_value());
    stage.table->counted = holds_input_layer(stage);
    stage.table->stages = table_stages;
  }
  stage.prologue.reserve(8);  // an operation is large to move
  stage.epilogue.reserve(24);
  stage.prologue.push_back(
      step_op(OpKind::zero, "zero.loss", Module::optimizer, {}, {stage.loss}));
  std::vector<TensorId> gradients;
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    const BucketState& b = stage.buckets[i];
    if (b.elements == 0) continue;
    const std::string name = bucket_name(i);
    gradients.push_back(b.gradients);
    const bool narrow = b.narrow_copies || b.narrow_in_place;
    if (narrow && runtime == Runtime::pleat) {  // once a step, for all microbatches
      stage.prologue.push_back(step_op(OpKind::quantize_weights, name + ".quantize_weights",
                                       Module::optimizer, {b.weights},
                                       {b.narrow_copies.value_or(b.weights)}));
    }
    clear_gradients(stage, b, name, runtime);
    // Before the sums over data parallelism, whose shards need not be the same in these stages.
    if (i == 0 && stage.table && runtime == Runtime::pleat) {
      stage.epilogue.push_back(sum_of_table(stage));
    }
    const auto sum_over_tp = [&](const std::string& suffix, std::int64_t first, std::int64_t n) {
      if (n == 0) return;
      Op op = step_op(OpKind::all_reduce_replicated, name + ".tp_sync" + suffix,
                      Module::grad_sync, {b.gradients}, {b.gradients}, Group::tp);
      op.attr.first = first;
      op.attr.n = {n};
      stage.epilogue.push_back(op);
    };
    sum_over_tp("", 0, b.replicated_elements);
    for (std::size_t u = 0; u < b.units.size(); ++u) {
      sum_over_tp("." + std::to_string(u), b.units[u].begin, b.units[u].replicated_elements);
    }
    if (runtime == Runtime::pleat) sum_shared_heads(stage, b, name);
    exchange_copies(stage, model, plan, i, OpKind::sum_expert_copies, ".copies_sync", b.gradients);
    BucketSync(plan, b, i, name).reduce(stage.epilogue);
  }
  // After the other sums, whole even where the rest is sharded (mcore finalize_model_grads.py).
  if (stage.table && runtime == Runtime::megatron) stage.epilogue.push_back(sum_of_table(stage));
  const TensorId norm2 =
      add_state(stage, "grad_norm2", TensorClass::step_scratch, DType::fp32, {{1}});
  const TensorId scale =
      add_state(stage, "clip_scale", TensorClass::step_scratch, DType::fp32, {{1}});
  const int norm_op = static_cast<int>(stage.epilogue.size());
  stage.epilogue.push_back(
      step_op(OpKind::grad_norm, "grad_norm", Module::optimizer, gradients, {norm2}));
  if (plan.world() > 1) {
    stage.epilogue.push_back(step_op(OpKind::all_reduce, "grad_norm.ar", Module::optimizer, {norm2},
                                     {norm2}, Group::world));
  }
  const int clip_op = static_cast<int>(stage.epilogue.size());
  stage.epilogue.push_back(step_op(OpKind::clip, "clip", Module::optimizer, {norm2}, {scale}));
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    const BucketState& b = stage.buckets[i];
    if (b.elements == 0) continue;
    add_optimizer_step(stage, model, plan, runtime, i, scale);
    BucketSync(plan, b, i, bucket_name(i)).gather_weights(stage.epilogue);
    exchange_copies(stage, model, plan, i, OpKind::spread_experts, ".spread", b.weights);
  }
  update_biases(stage, model, plan);
  add_amax_ops(stage, plan);
  // fp32 gradients of the shard, from before the norm until the next step's zero_grad (mcore
  // optimizer/distrib_optimizer.py _copy_model_grads_to_main_grads). fp32 gradients are views. The
  // decoupled path that would avoid the copy is off in Megatron-Bridge's recipes, whose BF16 runs
  // carry an fp8 recipe's name (optimizer_config.py).
  if (runtime == Runtime::megatron && plan.optimizer.main_grads != DType::fp32) {
    for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
      const BucketState& b = stage.buckets[i];
      if (b.elements == 0) continue;
      const TensorId copy = add_state(stage, bucket_name(i) + ".fp32_gradients",
                                      TensorClass::step_scratch, DType::fp32, {{b.shard_elements}});
      stage.step_lives.push_back({copy, norm_op, static_cast<int>(stage.epilogue.size()) - 1});
    }
  }
  stage.step_lives.push_back({norm2, norm_op, clip_op});
  stage.step_lives.push_back({scale, clip_op, static_cast<int>(stage.epilogue.size()) - 1});
}

}  // namespace pleat
