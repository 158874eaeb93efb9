// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Clones the forward operations that produce the dropped tensors into the backward list.
#include "core/program/passes/recompute.hpp"

#include <functional>
#include <map>

namespace pleat {
namespace {

bool decides_routing(OpKind kind) {
  return kind == OpKind::router_topk || kind == OpKind::expert_counts ||
         kind == OpKind::local_counts || kind == OpKind::load_tokens || kind == OpKind::load_labels;
}

bool recomputed(const Op& op, const Plan& plan) {
  if (decides_routing(op.kind) || op.host_sync) return false;
  if (plan.recompute_full) return true;
  if (plan.recompute.contains(op.module)) return true;
  const bool in_moe = op.module == Module::router || op.module == Module::dispatch ||
                      op.module == Module::experts || op.module == Module::moe_act ||
                      op.module == Module::combine || op.module == Module::shared_experts;
  return in_moe && plan.recompute.contains(Module::moe);
}

class Recomputer {
 public:
  Recomputer(LayerProgram& layer, const Plan& plan) : layer_(layer), plan_(plan) {
    for (std::size_t i = 0; i < layer.forward.size(); ++i) {
      for (TensorId t : layer.forward[i].out) writers_[t].push_back(i);
    }
  }

  void run() {
    std::vector<Op> old = std::move(layer_.backward);
    layer_.backward.clear();
    for (Op& op : old) {
      for (TensorId& t : op.in) t = replacement(t);
      layer_.backward.push_back(std::move(op));
    }
  }

 private:
  // The tensor the backward pass reads instead of `t`: itself, or its recomputed copy.
  TensorId replacement(TensorId t) {
    if (const auto done = copies_.find(t); done != copies_.end()) return done->second;
    const auto writers = writers_.find(t);
    if (writers == writers_.end() || t == layer_.output) return t;
    for (std::size_t i : writers->second) {
      if (!recomputed(layer_.forward[i], plan_)) return t;
    }
    for (std::size_t i : writers->second) emit(i);
    return copies_.at(t);
  }

  void emit(std::size_t index) {
    if (!emitted_.emplace(index, true).second) return;
    Op clone = layer_.forward[index];
    clone.name += ".again";
    clone.phase = Phase::recompute;
    // An in-place operand was copied by its producer's clone already.
    for (TensorId& t : clone.in) t = copies_.contains(t) ? copies_.at(t) : replacement(t);
    for (TensorId& t : clone.out) {
      if (layer_.tensor(t).cls != TensorClass::activation) continue;
      if (const auto done = copies_.find(t); done != copies_.end()) {
        t = done->second;
        continue;
      }
      Tensor copy = layer_.tensor(t);
      copy.name += ".again";
      layer_.tensors.push_back(std::move(copy));
      const TensorId id{static_cast<int>(layer_.tensors.size()) - 1};
      copies_[t] = id;
      t = id;
    }
    layer_.backward.push_back(std::move(clone));
  }

  LayerProgram& layer_;
  const Plan& plan_;
  std::map<TensorId, std::vector<std::size_t>> writers_;
  std::map<TensorId, TensorId> copies_;
  std::map<std::size_t, bool> emitted_;
};

}  // namespace

void apply_recompute(LayerProgram& layer, const Plan& plan) {
  const bool decoder = layer.kind == LayerKind::dense || layer.kind == LayerKind::moe ||
                       layer.kind == LayerKind::mtp;
  if (!decoder || (plan.recompute.empty() && !plan.recompute_full)) return;
  Recomputer(layer, plan).run();
}

}  // namespace pleat
