// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/passes/sharding.hpp"

#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

class Sharder {
 public:
  Sharder(LayerProgram& layer, const Plan& plan, Runtime runtime)
      : layer_(layer), plan_(plan),
        stays_gathered_(runtime == Runtime::megatron && (layer.kind == LayerKind::embedding ||
                                                         layer.kind == LayerKind::head)) {}

  void shard(Bucket bucket, Group group, const std::string& name) {
    std::int64_t elements = 0;
    for (const Weight& w : layer_.weights) {
      if (!w.buffer && w.bucket == bucket) elements += w.elements;
    }
    if (elements == 0) return;
    const TensorId full = add(name + ".full_gradient", plan_.optimizer.main_grads, elements);
    Op reduce = exchange(OpKind::reduce_scatter, name + ".grad_sync", Phase::backward, group);
    reduce.in = {full};
    if (plan_.optimizer.grad_reduce) {
      reduce.attr.wire = static_cast<double>(bytes_of(*plan_.optimizer.grad_reduce, 1)) /
                         static_cast<double>(bytes_of(plan_.optimizer.main_grads, 1));
    }
    layer_.backward.push_back(reduce);
    if (plan_.sharding != Sharding::zero3) return;
    const DType type = plan_.fp8_params && (plan_.precision == Precision::fp8 ||
                                            plan_.precision == Precision::fp8_delayed)
                           ? DType::fp8
                           : DType::bf16;
    for (Pass pass : {Pass::forward, Pass::backward}) {
      const bool forward = pass == Pass::forward;
      Op gather = exchange(OpKind::all_gather, name + (forward ? ".gather" : ".gather.again"),
                           forward ? Phase::forward : Phase::backward, group);
      gather.out = {add(name + (forward ? ".full" : ".full.again"), type, elements)};
      std::vector<Op>& ops = forward ? layer_.forward : layer_.backward;
      ops.insert(ops.begin(), gather);
      if (stays_gathered_) {
        layer_.tensors[gather.out.front().index()].cls = TensorClass::step_scratch;
        return;
      }
      Op release;
      release.kind = OpKind::release;
      release.name = gather.name + ".release";
      release.phase = gather.phase;
      release.module = Module::grad_sync;
      release.in = gather.out;
      ops.push_back(release);
    }
  }

 private:
  TensorId add(const std::string& name, DType type, std::int64_t elements) {
    layer_.tensors.push_back({name, TensorClass::activation, type, {{elements}}});
    return TensorId{static_cast<int>(layer_.tensors.size()) - 1};
  }

  Op exchange(OpKind kind, const std::string& name, Phase phase, Group group) const {
    Op op;
    op.kind = kind;
    op.name = name;
    op.phase = phase;
    op.module = Module::grad_sync;
    op.group = group;
    const bool beside =
        kind == OpKind::all_gather ? plan_.overlap.param_gather : plan_.overlap.grad_reduce;
    if (beside) op.stream = Stream::copy;  // communicators of their own: nothing queues behind them
    return op;
  }

  LayerProgram& layer_;
  const Plan& plan_;
  bool stays_gathered_;
};

}  // namespace

void apply_sharding(LayerProgram& layer, const Plan& plan, Runtime runtime) {
  if (plan.sharding != Sharding::zero2 && plan.sharding != Sharding::zero3) return;
  Sharder sharder(layer, plan, runtime);
  const Group dense = shard_groups(plan, false).shard, expert = shard_groups(plan, true).shard;
  if (group_size(plan, dense) > 1) sharder.shard(Bucket::dense, dense, "dense");
  if (group_size(plan, expert) > 1) sharder.shard(Bucket::expert, expert, "expert");
}

}  // namespace pleat
