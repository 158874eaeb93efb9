// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tensors go is Megatron's rule: the inputs of the named module
// (fine_grained_activation_offload.py). Copies run on a stream of their own, a layer ahead.
#include "core/program/passes/offload.hpp"

#include <algorithm>
#include <set>

namespace pleat {
namespace {

// Does the forward op read what this choice sends away?
bool names_op(Offload choice, const Op& op) {
  switch (choice) {
    case Offload::attn_norm: return op.name == "attn_norm";
    case Offload::qkv_linear: return op.module == Module::qkv && op.kind == OpKind::gemm;
    case Offload::core_attn:
      return op.kind == OpKind::attention || op.kind == OpKind::mla_attention;
    case Offload::attn_proj: return op.module == Module::attn_proj && op.kind == OpKind::gemm;
    case Offload::mlp_norm: return op.name == "mlp_norm";
    case Offload::expert_fc1: return op.name == "experts.fc1";
    case Offload::moe_act: return op.module == Module::moe_act;
  }
  return false;
}

bool read_in_backward(const LayerProgram& layer, TensorId t) {
  return std::ranges::any_of(layer.backward,
                             [&](const Op& op) { return std::ranges::count(op.in, t) > 0; });
}

// What an operation reads, and where that was converted or gathered from a share of the tokens for
// it: of those tensors the backward pass reads others than the forward one.
std::set<TensorId> with_sources(const LayerProgram& layer, const Op& reader) {
  std::set<TensorId> all(reader.in.begin(), reader.in.end());
  for (auto op = layer.forward.rbegin(); op != layer.forward.rend(); ++op) {
    const bool shares = op->kind == OpKind::all_gather && op->group == Group::tp;
    const bool converts = family_of(op->kind) == OpKind::quantize;
    const auto made = [&](TensorId t) { return all.contains(t); };
    if ((!shares && !converts) || std::ranges::none_of(op->out, made)) continue;
    all.insert(op->out.begin(), op->out.end());
    all.insert(op->in.front());
  }
  return all;
}

bool is_activation(const LayerProgram& layer, TensorId t) {
  return layer.tensor(t).cls == TensorClass::activation && t != layer.output;
}

// Activations the backward pass reads and the forward pass has, made before `choice` runs.
std::set<TensorId> chosen(const LayerProgram& layer, const std::set<Offload>& offload, bool whole) {
  std::set<TensorId> result;
  auto consider = [&](TensorId t) {
    if (is_activation(layer, t) && read_in_backward(layer, t)) result.insert(t);
  };
  if (whole) {
    for (const Op& op : layer.forward) {
      for (TensorId t : op.in) consider(t);
      for (TensorId t : op.out) consider(t);
    }
  }
  for (const Offload choice : offload) {
    for (const TensorId t : read_by(choice, layer)) consider(t);
  }
  return result;
}

// Whether the tensor is made in the layer's first half; its copies belong there, too.
bool made_in_attention(const LayerProgram& layer, TensorId t) {
  return std::ranges::any_of(layer.forward, [&](const Op& op) {
    return op.of_attention && std::ranges::count(op.out, t) > 0;
  });
}

Op copy_op(OpKind kind, const std::string& name, bool of_attention) {
  Op op;
  op.kind = kind;
  op.name = name;
  op.of_attention = of_attention;
  op.stream = Stream::copy;
  return op;
}

}  // namespace

std::set<TensorId> read_by(Offload choice, const LayerProgram& layer) {
  std::set<TensorId> all;
  for (const Op& op : layer.forward) {
    if (names_op(choice, op)) all.merge(with_sources(layer, op));
  }
  return all;
}

std::set<TensorId> offloaded_by(Offload choice, const LayerProgram& layer) {
  return chosen(layer, {choice}, false);
}

void apply_offload(LayerProgram& layer, const Plan& plan, bool whole) {
  const bool decoder = layer.kind == LayerKind::dense || layer.kind == LayerKind::moe ||
                       layer.kind == LayerKind::mtp;
  if (!decoder || (plan.offload.empty() && !whole)) return;
  std::vector<Op> reloads;
  for (TensorId t : chosen(layer, plan.offload, whole)) {
    Tensor back = layer.tensor(t);
    const std::string name = back.name;
    back.name += ".back";
    const bool of_attention = made_in_attention(layer, t);
    Op out = copy_op(OpKind::offload, name + ".offload", of_attention);
    out.in = {t};
    layer.forward.push_back(out);
    layer.tensors.push_back(back);
    const TensorId again{static_cast<int>(layer.tensors.size()) - 1};
    Op in = copy_op(OpKind::reload, name + ".reload", of_attention);
    in.phase = Phase::backward;
    in.out = {again};
    in.attr.source = t;
    reloads.push_back(in);
    for (Op& op : layer.backward) std::ranges::replace(op.in, t, again);
  }
  layer.backward.insert(layer.backward.begin(), reloads.begin(), reloads.end());
}

}  // namespace pleat
