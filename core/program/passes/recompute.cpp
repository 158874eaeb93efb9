// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Clones the forward operations that produce the dropped tensors into the backward list.
#include "core/program/passes/recompute.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pleat {
namespace {

constexpr const char* kAgain = ".again";  // what is made once more

bool decides_routing(OpKind kind) {
  return kind == OpKind::router_topk || kind == OpKind::drop_tokens ||
         kind == OpKind::place_experts ||
         kind == OpKind::expert_counts || kind == OpKind::local_counts ||
         kind == OpKind::router_stats || kind == OpKind::router_losses ||
         kind == OpKind::count_load || kind == OpKind::load_tokens || kind == OpKind::load_labels;
}

bool belongs_to_moe(Module module) {
  return module == Module::router || module == Module::dispatch || module == Module::experts ||
         module == Module::moe_act || module == Module::combine || module == Module::shared_experts;
}

bool recomputed(const Op& op, const Plan& plan) {
  if (!can_run_again(op)) return false;
  if (plan.recompute_full) return true;
  if (plan.recompute.contains(op.module)) return true;
  return plan.recompute.contains(Module::moe) && belongs_to_moe(op.module);
}

class Recomputer {
 public:
  Recomputer(LayerProgram& layer, const Plan& plan, bool whole_modules)
      : layer_(layer),
        plan_(plan),
        whole_modules_(whole_modules),
        writers_(layer.tensors.size()),
        emitted_(layer.forward.size()) {
    for (std::size_t i = 0; i < layer.forward.size(); ++i) {
      for (TensorId t : layer.forward[i].out) writers_[t.index()].push_back(i);
    }
    for (const Op& op : layer.backward) {  // some gather again
      if (op.name.ends_with(kAgain)) named_again_.insert(op.name);
    }
  }

  void run() {
    std::vector<Op> old = std::move(layer_.backward);
    layer_.backward.clear();
    layer_.backward.reserve(old.size() + layer_.forward.size());
    layer_.tensors.reserve(2 * layer_.tensors.size());
    copies_.reserve(layer_.tensors.capacity());
    for (Op& op : old) {
      for (TensorId& t : op.in) {
        if (keeps_output(t, op)) continue;
        const TensorId used = replacement(t);
        if (whole_modules_ && used != t) emit_module(layer_.forward[writers_of(t).front()].module);
        t = used;
      }
      layer_.backward.push_back(std::move(op));
    }
  }

 private:
  // Megatron's checkpoint of the attention core drops what the core saves for itself. Its output
  // stays: the projection that reads it saves it.
  bool keeps_output(TensorId t, const Op& reader) const {
    if (!whole_modules_ || plan_.recompute_full || reader.module == Module::core_attn) return false;
    const std::vector<std::size_t>& writers = writers_of(t);
    return !writers.empty() && layer_.forward[writers.front()].module == Module::core_attn;
  }

  // Forward operations that write it; none of a copy.
  const std::vector<std::size_t>& writers_of(TensorId t) const {
    static const std::vector<std::size_t> none;
    return t.index() < writers_.size() ? writers_[t.index()] : none;
  }

  std::optional<TensorId> copy_of(TensorId t) const {
    return t.index() < copies_.size() ? copies_[t.index()] : std::nullopt;
  }
  void set_copy(TensorId t, TensorId copy) {
    if (t.index() >= copies_.size()) copies_.resize(t.index() + 1);
    copies_[t.index()] = copy;
  }

  // Megatron's linear layers save their input as it was before a recomputed module's output is
  // quantized for them, and quantize it again.
  bool again(std::size_t index) const {
    const Op& op = layer_.forward[index];
    if (recomputed(op, plan_)) return true;
    if (!whole_modules_ || family_of(op.kind) != OpKind::quantize) return false;
    const std::vector<std::size_t>& writers = writers_of(op.in.front());
    if (writers.empty()) return false;
    const Op& source = layer_.forward[writers.front()];
    return source.module != Module::core_attn && recomputed(source, plan_);
  }

  // The tensor the backward pass reads instead of `t`: itself, or its recomputed copy.
  TensorId replacement(TensorId t) {
    if (const auto done = copy_of(t)) return *done;
    const std::vector<std::size_t>& writers = writers_of(t);
    if (writers.empty() || t == layer_.output) return t;
    for (std::size_t i : writers) {
      if (!again(i)) return t;
    }
    for (std::size_t i : writers) emit(i);
    return copy_of(t).value();
  }

  // The rest of a checkpointed module, in its order.
  void emit_module(Module module) {
    const bool in_moe = plan_.recompute.contains(Module::moe) && belongs_to_moe(module);
    const bool checkpoint =
        plan_.recompute_full || in_moe || module == Module::mlp || module == Module::shared_experts;
    if (!checkpoint) return;
    for (std::size_t i = 0; i < layer_.forward.size(); ++i) {
      const Module other = layer_.forward[i].module;
      const bool same =
          plan_.recompute_full || other == module || (in_moe && belongs_to_moe(other));
      if (same && recomputed(layer_.forward[i], plan_)) emit(i);
    }
  }

  void emit(std::size_t index) {
    if (emitted_[index]) return;
    emitted_[index] = true;
    Op clone = layer_.forward[index];
    clone.name += kAgain;
    if (named_again_.contains(clone.name)) clone.name += ".2";
    clone.phase = Phase::recompute;
    // An in-place operand was copied by its producer's clone already.
    for (TensorId& t : clone.in) t = replacement(t);
    for (TensorId& t : clone.out) {
      if (layer_.tensor(t).cls != TensorClass::activation) continue;
      if (const auto done = copy_of(t)) {
        t = *done;
        continue;
      }
      Tensor copy = layer_.tensor(t);
      copy.name += kAgain;
      layer_.tensors.push_back(std::move(copy));
      const TensorId id{static_cast<int>(layer_.tensors.size()) - 1};
      set_copy(t, id);
      t = id;
    }
    layer_.backward.push_back(std::move(clone));
  }

  LayerProgram& layer_;
  const Plan& plan_;
  bool whole_modules_;
  std::set<std::string> named_again_;               // backward operations
  std::vector<std::vector<std::size_t>> writers_;  // by tensor of the layer as it was
  std::vector<std::optional<TensorId>> copies_;    // by tensor
  std::vector<bool> emitted_;                      // by forward operation
};

}  // namespace

bool can_run_again(const Op& op) { return !decides_routing(op.kind) && !op.host_sync; }

void apply_recompute(LayerProgram& layer, const Plan& plan, Runtime runtime) {
  const bool decoder = layer.kind == LayerKind::dense || layer.kind == LayerKind::moe ||
                       layer.kind == LayerKind::mtp;
  if (!decoder || (plan.recompute.empty() && !plan.recompute_full)) return;
  Recomputer(layer, plan, runtime == Runtime::megatron).run();
}

}  // namespace pleat
