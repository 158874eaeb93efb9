// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tensors that Megatron and TransformerEngine hold beside those of the mathematics.
#include <algorithm>

#include "core/program/layer_builder.hpp"
#include "core/program/passes/layer_passes.hpp"

namespace pleat {
namespace {

TensorId add(LayerProgram& layer, const std::string& name, DType type, std::vector<Dim> shape) {
  layer.tensors.push_back({name, TensorClass::activation, type, std::move(shape)});
  return TensorId{static_cast<int>(layer.tensors.size()) - 1};
}

// The head's weight gradient runs beside the reduce-scatter of its input's gradient, whose result
// is allocated before; the shard that was gathered is saved until then (mcore
// tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication.backward).
void scattered_before_wgrad(LayerProgram& layer) {
  const auto of_head = [](OpKind kind) {
    return [kind](const Op& op) {
      return op.kind == kind && op.group == Group::tp && op.module == Module::head;
    };
  };
  const auto gather = std::ranges::find_if(layer.backward, of_head(OpKind::all_gather));
  const auto scatter = std::ranges::find_if(layer.backward, of_head(OpKind::reduce_scatter));
  if (gather == layer.backward.end() || scatter == layer.backward.end()) return;
  for (Op& op : layer.backward) {
    if (op.phase != Phase::wgrad) continue;
    op.in.push_back(gather->in.front());
    op.out.push_back(scatter->out.front());
  }
}

// The gathered input of the head lies in Megatron's global memory buffer, for the whole run
// (get_global_memory_buffer "mpu"; simulator/runtime_buffers.cpp counts it).
void into_global_buffer(LayerProgram& layer) {
  for (const auto* ops : {&layer.forward, &layer.backward}) {
    for (const Op& op : *ops) {
      if (op.kind != OpKind::all_gather || op.group != Group::tp) continue;
      Tensor& gathered = layer.tensors[op.out.front().index()];
      if (gathered.dtype != DType::fp32) gathered.cls = TensorClass::step_scratch;
    }
  }
}

bool is_attention(const Op& op, Pass pass) {
  return pass == Pass::forward
             ? op.kind == OpKind::attention || op.kind == OpKind::mla_attention
             : op.kind == OpKind::attention_bwd || op.kind == OpKind::mla_attention_bwd;
}

// The core of latent attention takes keys with the rotary part repeated for every head. They are
// made with the up-projection, which recomputes them.
void keep_whole_keys(LayerProgram& layer, Op& attention) {
  const Tensor o = layer.tensor(attention.out.front());
  const std::int64_t columns = attention.attr.heads * attention.attr.rope_dim;
  const TensorId keys = add(layer, "k_rotary", o.dtype, {o.shape.front(), {columns}});
  const TensorId kv = attention.in[1];
  const auto writer = std::ranges::find_if(layer.forward, [=](const Op& op) {
    return op.kind == OpKind::gemm && op.out.front() == kv;
  });
  PLEAT_ASSERT(writer != layer.forward.end());
  writer->out.push_back(keys);
  attention.in.push_back(keys);
  for (Op& op : layer.backward) {
    if (is_attention(op, Pass::backward)) op.in.push_back(keys);
  }
}

// Python names the rows before and after the dispatch until the layer's combine has returned
// (mcore transformer/moe/moe_layer.py, the locals of custom_forward).
void hold_dispatched_rows(LayerProgram& layer) {
  std::vector<TensorId> held;
  for (Op& op : layer.forward) {
    const OpKind family = family_of(op.kind);
    const bool there = family == OpKind::all_to_all && op.group == Group::ep;
    if (op.module == Module::dispatch && there && op.name == "dispatch") {
      held = {op.in.front(), op.out.front()};
    } else if (family == OpKind::all_to_all_back && op.module == Module::combine) {
      op.in.insert(op.in.end(), held.begin(), held.end());
    }
  }
}

// The router keeps probabilities and a map of all experts for every token, and the permutation a
// map of rows by expert (mcore transformer/moe/router.py, moe_utils.py; TransformerEngine's
// permutation).
void keep_routing_maps(LayerProgram& layer) {
  const auto find = [](std::vector<Op>& ops, OpKind kind) {
    return std::ranges::find_if(ops, [kind](const Op& op) { return op.kind == kind; });
  };
  const auto router = find(layer.forward, OpKind::router_topk);
  const auto back = find(layer.backward, OpKind::router_topk_bwd);
  if (router == layer.forward.end() || back == layer.backward.end()) return;
  const std::vector<Dim> all = layer.tensor(router->in.front()).shape;
  Op keep;
  keep.kind = OpKind::release;
  keep.name = "routing_maps";
  keep.module = Module::router;
  keep.out = {add(layer, "router.all_probs", DType::fp32, all),
              add(layer, "router.map", DType::u8, all), add(layer, "row_id_map", DType::i32, all)};
  Op drop = keep;
  drop.name += ".drop";
  drop.phase = Phase::backward;
  std::swap(drop.in, drop.out);
  layer.forward.insert(router + 1, keep);
  layer.backward.insert(back + 1, drop);
}

}  // namespace

void add_megatron_buffers(LayerProgram& layer, const Plan& plan) {
  const auto attention = std::ranges::find_if(
      layer.forward, [](const Op& op) { return is_attention(op, Pass::forward); });
  if (attention != layer.forward.end()) {
    // Keys that were exchanged for heads have it already.
    const bool local_keys = ContextShares(plan).heads == 1;
    if (attention->kind == OpKind::mla_attention && local_keys) keep_whole_keys(layer, *attention);
  }
  if (plan.expert.ep > 1) hold_dispatched_rows(layer);
  keep_routing_maps(layer);
  if (layer.kind == LayerKind::head) {
    scattered_before_wgrad(layer);
    into_global_buffer(layer);
  }
}

}  // namespace pleat
