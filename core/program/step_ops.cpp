// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer's step. ZeRO-1 is the step pass here: it turns the gradient all-reduce into a
// reduce-scatter, works on a shard of the state and appends the parameter all-gather.
// Several instances of the shards sum theirs across; DualPipe's two copies of a stage share one more
// level of shards.
#include "core/program/step_ops.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/rank_map.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

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

// Bytes that travel over those kept.
double wire_of(const OptimizerPlan& types) {
  if (!types.grad_reduce) return 1;
  return static_cast<double>(bytes_of(*types.grad_reduce, 1)) /
         static_cast<double>(bytes_of(types.main_grads, 1));
}

// The levels that a bucket's gradients are summed over and its weights gathered over.
class BucketSync {
 public:
  BucketSync(const Plan& plan, const BucketState& b, std::size_t index, const std::string& name)
      : plan_(plan), b_(b), name_(name), groups_(shard_groups(plan, index % 2 == 1)) {
    const int inner = group_size(plan, groups_.shard);
    sharded_ = plan.sharding != Sharding::none;
    whole_ = inner <= 1;
    share_ = sharded_ ? b.shards * b.shard_elements / inner : b.elements;
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

// The part of a bucket's shard that one kind of step works on, with its state.
struct Segment {
  std::string suffix;  // of names: "", ".reloaded", ".host"
  std::int64_t elements = 0;
  TensorId main_params, exp_avg, exp_avg_sq;
  std::int64_t first = 0;  // of the shard
  bool on_host = false;
};

class OptimizerStep {
 public:
  OptimizerStep(StageProgram& stage, const ModelSpec& model, const Plan& plan, std::size_t bucket,
                TensorId scale)
      : stage_(stage), model_(model), plan_(plan), index_(bucket), scale_(scale),
        name_(bucket_name(bucket)) {}

  void append() {
    const std::int64_t host = bucket().host_elements, reloaded = bucket().reloaded_elements;
    const std::int64_t resident = bucket().shard_elements - host - reloaded;
    if (resident > 0) {
      step({"", resident, bucket().main_params, bucket().exp_avg, bucket().exp_avg_sq});
    }
    if (reloaded > 0) step_with_reloaded_state(reloaded);
    if (host > 0) step_on_host(host);
  }

 private:
  [[nodiscard]] const BucketState& bucket() const { return stage_.buckets[index_]; }

  Op& push(OpKind kind, const std::string& name, std::vector<TensorId> in,
           std::vector<TensorId> out) {
    stage_.epilogue.push_back(step_op(kind, name_ + name, Module::optimizer, std::move(in),
                                      std::move(out)));
    return stage_.epilogue.back();
  }

  [[nodiscard]] int last_op() const { return static_cast<int>(stage_.epilogue.size()) - 1; }

  // State like the bucket's own, of `elements`, in device or host memory.
  Segment add_segment(const std::string& suffix, std::int64_t elements, TensorClass cls) {
    const OptimizerPlan& o = plan_.optimizer;
    Segment s{suffix, elements, bucket().weights, {}, {}};
    const auto add = [&](const char* what, DType type) {
      return add_state(stage_, name_ + suffix + what, cls, type, {{elements}});
    };
    if (bucket().has_main_params) s.main_params = add(".main_params", o.main_params);
    s.exp_avg = add(".exp_avg", o.exp_avg);
    if (bucket().has_second_moment) s.exp_avg_sq = add(".exp_avg_sq", o.exp_avg_sq);
    return s;
  }

  [[nodiscard]] std::vector<TensorId> state_of(const Segment& s) const {
    std::vector<TensorId> ids;
    if (bucket().has_main_params) ids.push_back(s.main_params);
    ids.push_back(s.exp_avg);
    if (bucket().has_second_moment) ids.push_back(s.exp_avg_sq);
    return ids;
  }

  void step(const Segment& s) {
    if (of_matrices(index_)) return muon(s);
    const TensorId gradients = s.on_host ? host_gradients_ : bucket().gradients;
    const bool adam = bucket().has_second_moment;
    std::vector<TensorId> in{gradients, s.exp_avg}, out{s.exp_avg};
    if (adam) {
      in.push_back(s.exp_avg_sq);
      out.push_back(s.exp_avg_sq);
    }
    in.push_back(s.main_params);
    in.push_back(scale_);
    out.push_back(s.main_params);
    if (plan_.optimizer.main_params == DType::remainder16) {  // the upper half is the weight itself
      in.push_back(bucket().weights);
      out.push_back(bucket().weights);
    }
    Op& op = push(adam ? OpKind::adamw : OpKind::momentum, s.suffix + (adam ? ".adamw" : ".sgd"),
                  std::move(in), std::move(out));
    op.attr.first = s.first;
    op.attr.n = {s.elements};
    op.on_host = s.on_host;
    if (plan_.optimizer.kind == OptimizerKind::lamb) {
      // Norms of every parameter and of its step, for the trust ratio.
      push(OpKind::copy, s.suffix + ".trust_ratio", {s.main_params, s.exp_avg}, {}).attr.n =
          {s.elements};
    }
    if (!s.on_host) cast(s);
  }

  void cast(const Segment& s) {
    if (!bucket().has_main_params || plan_.optimizer.main_params == DType::remainder16) return;
    push(OpKind::copy, s.suffix + ".cast", {s.main_params}, {bucket().weights}).attr.n =
        {s.elements};
  }

  // Momentum, whole matrices from the tensor-parallel peers, five Newton-Schulz iterations of those
  // this rank owns, and the step (mcore optimizer/muon.py, tensor-parallel mode duplicated).
  void muon(const Segment& s) {
    push(OpKind::momentum, s.suffix + ".momentum", {bucket().gradients, s.exp_avg, scale_},
         {s.exp_avg})
        .attr.n = {s.elements};
    const int split = index_ % 2 == 0 ? plan_.attention.tp : plan_.expert.etp;
    if (split > 1) {
      Op& gather = push(OpKind::all_gather, ".gather_matrices", {s.exp_avg}, {s.exp_avg});
      gather.group = index_ % 2 == 0 ? Group::tp : Group::etp;
      gather.attr.n = {s.elements * split};
    }
    const std::vector<MatrixShape> owned = owned_matrices(stage_, model_, plan_, index_);
    std::int64_t largest = 0;
    for (const MatrixShape& m : owned) largest = std::max(largest, m.rows * m.columns);
    const TensorId workspace = add_state(stage_, name_ + ".workspace", TensorClass::step_scratch,
                                         DType::fp32, {{3}, {largest}});
    const int first = last_op() + 1;
    for (std::size_t i = 0; i < owned.size(); ++i) {
      Op& op = push(OpKind::newton_schulz, ".newton_schulz." + std::to_string(i), {workspace},
                    {workspace});
      op.attr.m = {owned[i].rows};
      op.attr.n = {owned[i].columns};
      op.attr.experts = owned[i].count;
      op.attr.math = DType::bf16;
    }
    push(OpKind::copy, s.suffix + ".apply", {workspace, s.main_params}, {s.main_params}).attr.n =
        {s.elements};
    stage_.step_lives.push_back({workspace, first, last_op()});
    cast(s);
  }

  // The state is in host memory between steps.
  void step_with_reloaded_state(std::int64_t elements) {
    const Segment s = add_segment(".reloaded", elements, TensorClass::optimizer_state);
    add_segment(".kept_on_host", elements, TensorClass::host_state);
    const int first = last_op() + 1;
    for (TensorId id : state_of(s)) push(OpKind::reload, reload_name(id), {}, {id});
    step(s);
    for (TensorId id : state_of(s)) push(OpKind::offload, reload_name(id) + ".back", {id}, {});
    for (TensorId id : state_of(s)) stage_.step_lives.push_back({id, first, last_op()});
  }
  [[nodiscard]] std::string reload_name(TensorId id) const {
    return stage_.state[id.index()].name.substr(name_.size()) + ".reload";
  }

  // Gradients to the host, its step, the new weights back. Overlapped, the host's work hides the
  // transfers or they hide it (mcore optimizer/cpu_offloading/hybrid_optimizer.py).
  void step_on_host(std::int64_t elements) {
    host_gradients_ = add_state(stage_, name_ + ".host.gradients", TensorClass::host_state,
                                plan_.optimizer.main_grads, {{elements}});
    Segment s = add_segment(".host", elements, TensorClass::host_state);
    s.on_host = true;
    const TensorId weights = add_state(stage_, name_ + ".host.weights", TensorClass::host_state,
                                       DType::bf16, {{elements}});
    const Stream stream = plan_.optimizer.cpu_offload_overlapped ? Stream::copy : Stream::compute;
    push(OpKind::offload, ".host.gradients", {host_gradients_}, {}).stream = stream;
    step(s);
    push(OpKind::reload, ".host.weights", {}, {weights}).stream = stream;
  }

  StageProgram& stage_;
  const ModelSpec& model_;
  const Plan& plan_;
  std::size_t index_;
  TensorId scale_, host_gradients_;
  std::string name_;
};

// With fewer key and value heads than ranks, those that hold the same one have a part of its
// gradient each. (Megatron keeps no copies: it gathers the projection's output.)
void sum_shared_heads(StageProgram& stage, const BucketState& b, const std::string& name) {
  for (const Copies& c : b.copies) {
    if (!c.heads) continue;
    Op op = step_op(OpKind::all_reduce, name + ".kv_sync", Module::grad_sync, {b.gradients},
                    {b.gradients}, Group::tp);
    op.attr.first = c.first;
    op.attr.n = {c.elements};
    op.attr.run = c.ranks;
    stage.epilogue.push_back(op);
  }
}

// The stage's embedding table, which all that share it have once.
std::optional<SharedTable> table_of(const StageProgram& stage) {
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        const Weight& w = layer.weights[i];
        if (is_table(layer, w)) return SharedTable{instance.slots[i], w.elements, true};
      }
    }
  }
  return {};
}

Op sum_of_table(const StageProgram& stage) {
  const TensorId sums = stage.buckets[0].gradients;
  Op op = step_op(OpKind::all_reduce, "table.grad_sync", Module::grad_sync, {sums}, {sums},
                  Group::embedding);
  op.attr.first = stage.table->slot.offset;
  op.attr.n = {stage.table->elements};
  return op;
}

// Tokens of all ranks of the stage, then the biases (DeepSeek-V3, arXiv:2412.19437 section 2.1.2).
void update_biases(StageProgram& stage, const ModelSpec& model, const Plan& plan) {
  const BucketState& b = stage.buckets[0];
  const std::int64_t biases = b.bias_elements, loads = b.buffer_elements - biases;
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
  Op op = step_op(OpKind::update_bias, "update_bias", Module::router, {b.buffers}, {b.buffers});
  op.attr.n = {biases};
  op.attr.experts = model.moe->experts;
  op.attr.scale = model.moe->bias_update;
  stage.epilogue.push_back(op);
}

}  // namespace

void add_step_ops(StageProgram& stage, const ModelSpec& model, const Plan& plan, Runtime runtime,
                  bool table_twin) {
  if (table_twin) stage.table = table_of(stage);
  if (stage.table) stage.table->counted = stage.stage.value == 0;
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
    // Before the sums over data parallelism, whose shards need not be the same in both stages.
    if (i == 0 && stage.table && runtime == Runtime::pleat) {
      stage.epilogue.push_back(sum_of_table(stage));
    }
    const auto sum_over_tp = [&](const std::string& suffix, std::int64_t first, std::int64_t n) {
      if (n == 0) return;
      Op op = step_op(OpKind::all_reduce, name + ".tp_sync" + suffix, Module::grad_sync,
                      {b.gradients}, {b.gradients}, Group::tp);
      op.attr.first = first;
      op.attr.n = {n};
      stage.epilogue.push_back(op);
    };
    sum_over_tp("", 0, b.replicated_elements);
    for (std::size_t u = 0; u < b.units.size(); ++u) {
      sum_over_tp("." + std::to_string(u), b.units[u].begin, b.units[u].replicated_elements);
    }
    if (runtime == Runtime::pleat) sum_shared_heads(stage, b, name);
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
    OptimizerStep(stage, model, plan, i, scale).append();
    BucketSync(plan, b, i, bucket_name(i)).gather(stage.epilogue);
  }
  update_biases(stage, model, plan);
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
