// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// ZeRO-2 and ZeRO-3: a layer's weights and gradients are whole only while it runs. Each rank's
// shard of a bucket is its shares of the layers, one after another.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat {
namespace {

bool belongs(const LayerProgram& layer, const Weight& w, const ShardedWeights& s) {
  return !w.buffer && w.bucket == s.bucket && is_table(layer, w) == s.table;
}

// Where those weights of the layer begin in their bucket.
std::int64_t unit_begin(const LayerProgram& layer, const LayerInstance& instance,
                        const ShardedWeights& s) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    if (belongs(layer, layer.weights[i], s)) begin = std::min(begin, instance.slots[i].offset);
  }
  return begin;
}

const ShardedWeights* sharded_with(const LayerProgram& layer, const Weight& weight) {
  const auto found = std::ranges::find_if(
      layer.sharded, [&](const ShardedWeights& s) { return belongs(layer, weight, s); });
  return found == layer.sharded.end() ? nullptr : &*found;
}

}  // namespace

// The tensor that holds a weight or its gradient while the layer runs; none: the bucket does.
std::optional<TensorId> Executor::whole_tensor(const OpSite& site, const Weight& weight,
                                               bool gradient) const {
  const ShardedWeights* s = sharded_with(*site.program, weight);
  if (s == nullptr) return {};
  if (gradient) return s->gradients;
  return site.pass == Pass::forward ? s->forward : s->backward;
}

View Executor::sharded_operand(const Op& op, const OpSite& site, std::size_t weight,
                               TensorId whole) {
  const LayerProgram& layer = *site.program;
  const Weight& w = layer.weights[weight];
  const View all =
      store_.activation(resolve(stage_, site, whole), layer.tensor(whole), {}, true, op.name);
  const Tensor& tensor = layer.tensor(w.weight);
  const std::int64_t offset =
      site.instance->slots[weight].offset - unit_begin(layer, *site.instance, *sharded_with(layer, w));
  return {all.at(offset), all.dtype, tensor.rows({}), tensor.columns({})};
}

// Gathers a layer's weights, or reduces its gradients and adds this rank's share to its shard.
void Executor::sharded_collective(const Call& c) {
  Communicator& comm = context_.comm(c.op.group);
  const bool gather = family_of(c.op.kind) == OpKind::all_gather;
  const TensorId id = gather ? c.op.out[0] : c.op.in[0];
  const auto& list = c.site->program->sharded;
  const auto found = std::ranges::find_if(list, [&](const ShardedWeights& s) {
    return gather ? s.forward == id || s.backward == id : s.gradients == id;
  });
  if (found == list.end()) {
    throw ExecutionError(
        fmt::format("operation '{}': no weights of the layer lie in its tensor", c.op.name));
  }
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(found->bucket)];
  const View all = gather ? c.out[0] : c.in[0];
  const std::int64_t each = all.elements() / comm.size();
  const View mine = elements_of(all, each * comm.rank(), each);
  const std::int64_t first =
      unit_begin(*c.site->program, *c.site->instance, *found) / b.shards;
  const View state = store_.state(gather ? b.weights : b.gradients, true, c.op.name);
  const View shard = elements_of(state, first, each);
  if (gather) {
    kernels_.copy(shard, mine);
    comm.all_gather(bytes(mine), bytes(all));
  } else {
    sum_gradients(c.op, comm, all, mine);
    kernels_.add(shard, mine, {}, shard);
  }
}

// Of a weight that lies in shards this rank's pieces.
void Executor::keep_weight(const WeightSlot& slot, View weight) {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(slot.bucket)];
  const View weights = store_.state(b.weights, false, "init");
  for (const Piece& p : pieces(slot.bucket)) {
    const std::int64_t first = std::max(slot.offset, p.whole);
    const std::int64_t last = std::min(slot.offset + weight.elements(), p.whole + p.elements);
    if (first >= last) continue;
    copy_between(elements_of(weight, first - slot.offset, last - first),
                 elements_of(weights, p.shard + (first - p.whole), last - first));
  }
}

}  // namespace pleat
