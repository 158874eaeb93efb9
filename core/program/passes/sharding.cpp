// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// ZeRO-2 and ZeRO-3: gathers of weights and reductions of gradients around a layer.
#include <algorithm>
#include <optional>

#include "core/plan/rank_map.hpp"
#include "core/program/passes/layer_passes.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

class Sharder {
 public:
  Sharder(LayerProgram& layer, const Plan& plan, Runtime runtime)
      : layer_(layer),
        plan_(plan),
        runtime_(runtime),
        stays_gathered_(runtime == Runtime::megatron &&
                        (layer.kind == LayerKind::embedding || layer.kind == LayerKind::head)) {}

  // Weights of a bucket. `table`: its table alone, or the others alone.
  void shard(Bucket bucket, Group group, const std::string& name,
             std::optional<bool> table = std::nullopt) {
    std::int64_t elements = 0;
    for (const Weight& w : layer_.weights) {
      if (w.buffer || w.bucket != bucket) continue;
      if (!table || is_table(layer_, w) == *table) elements += w.elements;
    }
    if (elements == 0) return;
    if (runtime_ == Runtime::pleat) {
      const std::int64_t shards = group_size(plan_, group);
      elements = (elements + shards - 1) / shards * shards;
    }
    const TensorId full = add(name + ".full_gradient", plan_.optimizer.main_grads, elements);
    Op reduce = exchange(OpKind::reduce_gradients, name + ".grad_sync", Phase::backward, group);
    reduce.in = {full};
    if (plan_.optimizer.grad_reduce) {
      reduce.attr.wire = static_cast<double>(bytes_of(*plan_.optimizer.grad_reduce, 1)) /
                         static_cast<double>(bytes_of(plan_.optimizer.main_grads, 1));
    }
    const bool of_table = table.value_or(false);
    reduce.attr.first_writes = runtime_ == Runtime::pleat && !of_table;
    layer_.backward.push_back(reduce);
    ShardedWeights sharded{bucket, of_table, full, {}, {}};
    if (runtime_ == Runtime::pleat) write_whole(sharded, name, elements);
    if (plan_.sharding == Sharding::zero3) gather(name, group, elements, sharded);
    if (runtime_ == Runtime::pleat) layer_.sharded.push_back(sharded);
  }

 private:
  // Whole gradients are there for one microbatch, so products write theirs in all of them. What
  // others add to lies at both ends (buckets.cpp), and is cleared.
  void write_whole(const ShardedWeights& s, const std::string& name, std::int64_t elements) {
    std::int64_t before = 0, written = 0;
    for (const Weight& w : layer_.weights) {
      if (w.buffer || w.bucket != s.bucket || is_table(layer_, w) != s.table) continue;
      if (w.written) written += w.elements;
      if (!w.written && w.summed_over_tp) before += w.elements;
      if (!w.written) continue;
      const auto maker = std::ranges::find_if(layer_.backward, [&w](const Op& op) {
        return op.attr.first_writes && !op.out.empty() && op.out.front() == w.gradient;
      });
      maker->attr.accumulate = maker->attr.first_writes = false;
    }
    if (written == 0) return clear(name, s.gradients, {});
    const std::int64_t after = elements - before - written;
    if (after > 0) clear(name + ".after", s.gradients, {before + written, after});
    if (before > 0) clear(name, s.gradients, {0, before});
  }

  // No elements: all of it.
  void clear(const std::string& name, TensorId full, ParameterRange range) {
    Op zero;
    zero.kind = OpKind::zero;
    zero.name = name + ".zero_full";
    zero.phase = Phase::backward;
    zero.module = Module::grad_sync;
    zero.out = {full};
    if (range.elements > 0) clear_part(zero, range);
    layer_.backward.insert(layer_.backward.begin(), zero);
  }

  void gather(const std::string& name, Group group, std::int64_t elements,
              ShardedWeights& sharded) {
    const bool scaled_by_tensor =
        plan_.precision == Precision::fp8 || plan_.precision == Precision::fp8_delayed;
    const bool narrow = runtime_ == Runtime::megatron && plan_.fp8_params && scaled_by_tensor;
    const DType type = plan_.precision == Precision::fp32 ? DType::fp32
                       : narrow                           ? DType::fp8
                                                          : DType::bf16;
    for (Pass pass : {Pass::forward, Pass::backward}) {
      const bool forward = pass == Pass::forward;
      if (runtime_ == Runtime::pleat && !reads_weights(pass, sharded)) continue;
      Op gather = exchange(OpKind::gather_weights, name + (forward ? ".gather" : ".gather.again"),
                           forward ? Phase::forward : Phase::backward, group);
      gather.out = {add(name + (forward ? ".full" : ".full.again"), type, elements)};
      (forward ? sharded.forward : sharded.backward) = gather.out.front();
      std::vector<Op>& ops = forward ? layer_.forward : layer_.backward;
      if (runtime_ == Runtime::pleat) narrow_weights(ops, gather.phase, sharded);
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

  // Copies for narrow products, made when the weights have been gathered, before their first
  // reader.
  void narrow_weights(std::vector<Op>& ops, Phase phase, const ShardedWeights& s) {
    for (const Weight& w : layer_.weights) {
      if (w.buffer || w.bucket != s.bucket || is_table(layer_, w) != s.table) continue;
      for (const bool column : {false, true}) {
        const auto reads = [&](const Op& op) {
          const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
          return product && is_quantized(op.attr.math) && op.in[1] == w.weight &&
                 !op.attr.transpose_a && op.attr.transpose_b != column;
        };
        const auto first = std::ranges::find_if(ops, reads);
        if (first == ops.end()) continue;
        Tensor copy = layer_.tensor(w.weight);
        copy.name += column ? ".col" : ".row";
        if (phase == Phase::backward) copy.name += ".again";
        copy.cls = TensorClass::activation;
        copy.dtype = first->attr.math;
        layer_.tensors.push_back(copy);
        const TensorId id{static_cast<int>(layer_.tensors.size()) - 1};
        Op op;
        op.kind = OpKind::quantize_weight;
        op.name = copy.name + ".quantize";
        op.phase = phase;
        op.belongs_with(*first);
        op.in = {w.weight};
        op.out = {id};
        op.attr.by_rows = column;
        for (Op& reader : ops) {
          if (reads(reader)) reader.in[1] = id;
        }
        ops.insert(first, op);
      }
    }
  }

  // A table's backward pass reads none.
  [[nodiscard]] bool reads_weights(Pass pass, const ShardedWeights& s) const {
    return std::ranges::any_of(layer_.ops(pass), [&](const Op& op) {
      return std::ranges::any_of(layer_.weights, [&](const Weight& w) {
        return w.bucket == s.bucket && is_table(layer_, w) == s.table &&
               std::ranges::count(op.in, w.weight) > 0;
      });
    });
  }

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
        kind == OpKind::gather_weights ? plan_.overlap.param_gather : plan_.overlap.grad_reduce;
    if (beside) op.stream = Stream::copy;  // communicators of their own: nothing queues behind them
    return op;
  }

  LayerProgram& layer_;
  const Plan& plan_;
  Runtime runtime_;
  bool stays_gathered_;
};

}  // namespace

void apply_sharding(LayerProgram& layer, const Plan& plan, Runtime runtime) {
  if (plan.sharding != Sharding::zero2 && plan.sharding != Sharding::zero3) return;
  Sharder sharder(layer, plan, runtime);
  const Group dense = shard_groups(plan, false).shard, expert = shard_groups(plan, true).shard;
  if (group_size(plan, dense) > 1) {
    if (runtime == Runtime::pleat) {  // other layers may have the table too: a unit of its own
      sharder.shard(Bucket::dense, dense, "table", true);
      sharder.shard(Bucket::dense, dense, "dense", false);
    } else {
      sharder.shard(Bucket::dense, dense, "dense");
    }
  }
  if (group_size(plan, expert) > 1) sharder.shard(Bucket::expert, expert, "expert");
}

}  // namespace pleat
