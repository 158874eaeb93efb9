// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Buckets and the optimizer step. ZeRO-1 is the step pass here: it turns the gradient all-reduce into
// a reduce-scatter, shrinks the optimizer state to a shard and appends the parameter all-gather.
// Several instances of the shards sum theirs across; DualPipe's two copies of a stage share one
// more level of shards.
#include "core/program/step_ops.hpp"

#include <optional>

#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

TensorId add_state(StageProgram& stage, const std::string& name, TensorClass cls, DType dtype,
                   std::vector<Dim> shape) {
  stage.state.push_back({name, cls, dtype, std::move(shape)});
  return TensorId{static_cast<int>(stage.state.size()) - 1};
}

template <class Visit>  // visit(layer, weight, slot) in forward order
void for_each_weight(StageProgram& stage, Visit visit) {
  for (ChunkProgram& chunk : stage.chunks) {
    for (LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      instance.slots.resize(layer.weights.size());
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        visit(layer, layer.weights[i], instance.slots[i]);
      }
    }
  }
}

// Bytes of the weights as the GEMMs read them: narrow types keep a row-wise and a column-wise copy.
DType weight_dtype(Precision precision, std::int64_t& copies) {
  copies = 1;
  switch (precision) {
    case Precision::fp32: return DType::fp32;
    case Precision::fp16:
    case Precision::bf16:
    case Precision::nvfp4: return DType::bf16;  // fp4 copies are made per use
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block: copies = 2; return DType::fp8;
    case Precision::mxfp8: copies = 2; return DType::mxfp8;
  }
  return DType::fp32;
}

Op step_op(OpKind kind, const std::string& name, Module module, std::vector<TensorId> in,
           std::vector<TensorId> out, Group group = Group::none) {
  Op op;
  op.kind = kind;
  op.name = name;
  op.phase = Phase::step;
  op.module = module;
  op.in = std::move(in);
  op.out = std::move(out);
  op.group = group;
  return op;
}

// The table of an embedding, a prediction layer, or a tied head.
bool is_table(const LayerProgram& layer, const Weight& w, const ModelSpec& model) {
  const std::string& name = layer.tensor(w.weight).name;
  return name == "W.embedding" || (model.tied_embeddings && name == "W.head");
}

// Bytes that travel over those kept.
double wire_of(const OptimizerDTypes& types) {
  if (!types.grad_reduce) return 1;
  return static_cast<double>(bytes_of(*types.grad_reduce, 1)) /
         static_cast<double>(bytes_of(types.main_grads, 1));
}

// The levels that a bucket's gradients are summed over and its weights gathered over.
class BucketSync {
 public:
  BucketSync(const Plan& plan, const BucketState& b, std::size_t index, const std::string& name)
      : plan_(plan), b_(b), name_(name), groups_(shard_groups(plan, index == 1)) {
    const int inner = group_size(plan, groups_.shard);
    sharded_ = plan.sharding != Sharding::none;
    whole_ = inner <= 1;
    share_ = sharded_ ? (b.elements + inner - 1) / inner : b.elements;
  }

  void reduce(std::vector<Op>& ops) const {
    const bool per_layer =  // the sharding pass reduced them layer by layer
        plan_.sharding == Sharding::zero2 || plan_.sharding == Sharding::zero3;
    if (!whole_ && !per_layer) {
      ops.push_back(level(sharded_ ? OpKind::reduce_scatter : OpKind::all_reduce, ".grad_sync",
                          b_.gradients, groups_.shard, false));
    }
    if (group_size(plan_, groups_.replicas) > 1) {
      ops.push_back(level(OpKind::all_reduce, ".grad_sync.replicas", b_.gradients,
                          groups_.replicas, true));
    }
    if (group_size(plan_, Group::copies) > 1) {
      ops.push_back(level(sharded_ ? OpKind::reduce_scatter : OpKind::all_reduce,
                          ".grad_sync.copies", b_.gradients, Group::copies, true));
    }
    for (Op& op : ops) {
      if (op.module == Module::grad_sync && op.in.front() == b_.gradients &&
          op.group != Group::tp) {
        op.attr.wire = wire_of(plan_.optimizer);
      }
    }
  }

  void gather(std::vector<Op>& ops) const {
    if (!sharded_ || plan_.sharding == Sharding::zero3) return;
    if (group_size(plan_, Group::copies) > 1) {
      ops.push_back(level(OpKind::all_gather, ".param_gather.copies", b_.weights, Group::copies,
                          true));
    }
    if (!whole_) {
      ops.push_back(level(OpKind::all_gather, ".param_gather", b_.weights, groups_.shard, false));
    }
  }

 private:
  // `of_share`: of the part that one set of shards leaves on a rank.
  [[nodiscard]] Op level(OpKind kind, const char* what, TensorId tensor, Group group,
                         bool of_share) const {
    Op op = step_op(kind, name_ + what, Module::grad_sync, {tensor}, {tensor}, group);
    if (of_share) op.attr.n = {share_};
    return op;
  }

  const Plan& plan_;
  const BucketState& b_;
  std::string name_;
  ShardGroups groups_;
  bool sharded_ = false, whole_ = false;
  std::int64_t share_ = 0;
};

std::string bucket_name(std::size_t bucket) { return bucket == 0 ? "dense" : "expert"; }

}  // namespace

void lay_out_buckets(StageProgram& stage, const ModelSpec& model, const Plan& plan,
                     Runtime runtime) {
  stage.buckets.assign(2, {});
  std::optional<WeightSlot> table;  // shared
  auto place = [&](auto wanted) {
    for_each_weight(stage, [&](const LayerProgram& layer, const Weight& w, WeightSlot& slot) {
      if (w.buffer || !wanted(w)) return;
      const bool shared = runtime == Runtime::megatron && is_table(layer, w, model);
      if (shared && table) {
        slot = *table;
        return;
      }
      BucketState& bucket = stage.buckets[static_cast<std::size_t>(w.bucket)];
      slot = {w.bucket, bucket.elements};
      bucket.elements += w.elements;
      if (shared) table = slot;
    });
  };
  place([](const Weight& w) { return w.replicated_over_tp; });
  for (BucketState& bucket : stage.buckets) bucket.replicated_elements = bucket.elements;
  place([](const Weight& w) { return !w.replicated_over_tp; });

  const bool sharded = plan.sharding != Sharding::none;
  const int stage_copies = group_size(plan, Group::copies);
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    const Group group = shard_groups(plan, i == 1).shard;
    stage.buckets[i].shards = sharded ? group_size(plan, group) * stage_copies : 1;
  }
  for (BucketState& b : stage.buckets) {
    b.shard_elements = (b.elements + b.shards - 1) / b.shards;
  }
  for_each_weight(stage, [&](const LayerProgram&, const Weight& w, WeightSlot& slot) {
    if (!w.buffer) return;
    BucketState& b = stage.buckets[static_cast<std::size_t>(w.bucket)];
    slot = {w.bucket, b.shards * b.shard_elements + b.buffer_elements};
    b.buffer_elements += w.elements;
  });

  std::int64_t copies = 1;
  const DType dtype = weight_dtype(plan.precision, copies);
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    BucketState& b = stage.buckets[i];
    if (b.elements == 0) continue;
    const std::string name = bucket_name(i);
    const Dim padded{b.shards * b.shard_elements};
    const Dim shard{b.shard_elements};
    const Dim weights{copies * (plan.sharding == Sharding::zero3 ? shard.n : padded.n) +
                      b.buffer_elements};
    const bool whole_gradient = plan.sharding == Sharding::none || plan.sharding == Sharding::zero1;
    b.weights = add_state(stage, name + ".weights", TensorClass::weight, dtype, {weights});
    b.gradients = add_state(stage, name + ".gradients", TensorClass::gradient,
                            plan.optimizer.main_grads, {whole_gradient ? padded : shard});
    b.has_main_params = dtype != DType::fp32;
    b.main_params = b.weights;
    if (b.has_main_params) {
      b.main_params = add_state(stage, name + ".main_params", TensorClass::optimizer_state,
                                plan.optimizer.main_params, {shard});
    }
    b.exp_avg = add_state(stage, name + ".exp_avg", TensorClass::optimizer_state,
                          plan.optimizer.exp_avg, {shard});
    b.exp_avg_sq = add_state(stage, name + ".exp_avg_sq", TensorClass::optimizer_state,
                             plan.optimizer.exp_avg_sq, {shard});
  }
  stage.loss = add_state(stage, "loss", TensorClass::optimizer_state, DType::fp32, {{1}});
}

void add_step_ops(StageProgram& stage, const Plan& plan, Runtime runtime) {
  stage.prologue.push_back(
      step_op(OpKind::zero, "zero.loss", Module::optimizer, {}, {stage.loss}));
  std::vector<TensorId> gradients;
  for (std::size_t i = 0; i < stage.buckets.size(); ++i) {
    const BucketState& b = stage.buckets[i];
    if (b.elements == 0) continue;
    const std::string name = bucket_name(i);
    gradients.push_back(b.gradients);
    stage.prologue.push_back(
        step_op(OpKind::zero, name + ".zero_grad", Module::optimizer, {}, {b.gradients}));
    if (b.replicated_elements > 0) {
      Op op = step_op(OpKind::all_reduce, name + ".tp_sync", Module::grad_sync, {b.gradients},
                      {b.gradients}, Group::tp);
      op.attr.n = {b.replicated_elements};
      stage.epilogue.push_back(op);
    }
    BucketSync(plan, b, i, name).reduce(stage.epilogue);
  }
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
    const std::string name = bucket_name(i);
    stage.epilogue.push_back(step_op(OpKind::adamw, name + ".adamw", Module::optimizer,
                                     {b.gradients, b.exp_avg, b.exp_avg_sq, b.main_params, scale},
                                     {b.exp_avg, b.exp_avg_sq, b.main_params}));
    if (b.has_main_params) {
      stage.epilogue.push_back(step_op(OpKind::copy, name + ".cast", Module::optimizer,
                                       {b.main_params}, {b.weights}));
    }
    BucketSync(plan, b, i, name).gather(stage.epilogue);
  }
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
