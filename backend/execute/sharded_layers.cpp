// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/sharded_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/execute/execution.hpp"
#include "backend/execute/gradient_sums.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/step_state.hpp"

namespace pleat::execute {
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

// Those of the layer's weights that an exchange moves, and where they lie.
struct SharedUnit {
  View whole;  // while the layer runs
  View mine;   // this rank's share of it
  View shard;  // where that is kept
};

SharedUnit unit_of(const Call& c, Execution& run, bool gather) {
  const TensorId id = gather ? c.op.out[0] : c.op.in[0];
  const auto& list = c.site->program->sharded;
  const auto found = std::ranges::find_if(list, [&](const ShardedWeights& s) {
    return gather ? s.forward == id || s.backward == id : s.gradients == id;
  });
  if (found == list.end()) {
    throw ExecutionError(
        fmt::format("operation '{}': no weights of the layer lie in its tensor", c.op.name));
  }
  const Communicator& comm = run.ranks.comm(c.op.group);
  const BucketState& b = run.bucket(found->bucket);
  SharedUnit unit{.whole = gather ? c.out[0] : c.in[0], .mine = {}, .shard = {}};
  const std::int64_t each = unit.whole.elements() / comm.size();
  unit.mine = elements_of(unit.whole, each * comm.rank(), each);
  const std::int64_t first = unit_begin(*c.site->program, *c.site->instance, *found) / b.shards;
  const bool writes = !gather && c.op.attr.first_writes && c.site->first;
  const View state = run.store.state(gather ? b.weights : b.gradients, !writes, c.op.name);
  unit.shard = elements_of(state, first, each);
  return unit;
}

}  // namespace

void gather_weights(const Call& c, Execution& run) {
  const SharedUnit unit = unit_of(c, run, true);
  run.kernels.copy(unit.shard, unit.mine);
  run.ranks.comm(c.op.group).all_gather(bytes(unit.mine), bytes(unit.whole));
}

void reduce_gradients(const Call& c, Execution& run) {
  const SharedUnit unit = unit_of(c, run, false);
  sum_gradients(c.op, run, run.ranks.comm(c.op.group), unit.whole, unit.mine);
  if (c.op.attr.first_writes && c.site->first) return run.kernels.copy(unit.mine, unit.shard);
  run.kernels.add(unit.shard, unit.mine, {}, unit.shard);
}

std::optional<View> whole_operand(const Op& op, const OpSite& site, std::size_t weight,
                                  bool gradient, bool reads, Execution& run) {
  const LayerProgram& layer = *site.program;
  const Weight& w = layer.weights[weight];
  const ShardedWeights* s = sharded_with(layer, w);
  if (s == nullptr) return {};
  const std::optional<TensorId> whole = gradient                     ? s->gradients
                                        : site.pass == Pass::forward ? s->forward
                                                                     : s->backward;
  if (!whole) return {};
  const View all = run.store.activation(resolve(run.stage, site, *whole), layer.tensor(*whole), {},
                                        reads, op.name);
  const Tensor& tensor = layer.tensor(w.weight);
  const std::int64_t offset =
      site.instance->slots[weight].offset - unit_begin(layer, *site.instance, *s);
  return View{all.at(offset), all.dtype, tensor.rows({}), tensor.columns({})};
}

void for_each_kept(const WeightSlot& slot, std::int64_t first, std::int64_t count, Execution& run,
                   const std::function<void(View kept, std::int64_t after)>& f) {
  const View weights = run.store.state(run.bucket(slot.bucket).weights, false, "init");
  const std::int64_t wanted = slot.offset + first;
  for (const Piece& p : run.shards.pieces(slot.bucket)) {
    const std::int64_t begin = std::max(wanted, p.whole);
    const std::int64_t end = std::min(wanted + count, p.whole + p.elements);
    if (begin >= end) continue;
    f(elements_of(weights, p.shard + (begin - p.whole), end - begin), begin - wanted);
  }
}

void keep_in_shards(const WeightSlot& slot, View weight, Execution& run) {
  for_each_kept(slot, 0, weight.elements(), run, [&](View kept, std::int64_t after) {
    run.copy_between(elements_of(weight, after, kept.elements()), kept);
  });
}

}  // namespace pleat::execute
