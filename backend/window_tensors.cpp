// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/window_tensors.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

class Chooser {
 public:
  Chooser(const Plan& plan, Stage stage)
      : plan_(plan), rank_{stage.value * (plan.world() / plan.attention.pp)} {}

  void add(const std::vector<Op>& ops, const std::vector<Tensor>& tensors) {
    for (const Op& op : ops) {
      std::vector<const Tensor*> operands;
      for (const auto* list : {&op.in, &op.out}) {
        if (!list->empty()) operands.push_back(&tensors[list->front().index()]);
      }
      if (!qualifies(op) || !std::ranges::all_of(operands, is_alike)) continue;
      chosen_.tensors.insert(operands.begin(), operands.end());
      chosen_.groups.insert({op.group, op.attr.run});
    }
  }
  [[nodiscard]] WindowTensors chosen() && { return std::move(chosen_); }

 private:
  [[nodiscard]] bool qualifies(const Op& op) const {
    const OpKind family = family_of(op.kind);
    const bool kind = family == OpKind::all_gather || family == OpKind::reduce_scatter ||
                      family == OpKind::all_reduce;
    if (!kind || op.attr.wire < 1 || op.group == Group::embedding) return false;
    const std::vector<Rank> members = group_members(plan_, rank_, op.group);
    const int stage = attention_coordinates(plan_, rank_).pp;
    return members.size() > 1 && std::ranges::all_of(members, [&](Rank r) {
             return attention_coordinates(plan_, r).pp == stage;
           });
  }
  static bool is_alike(const Tensor* t) {
    return !t->is_routed() && t->cls != TensorClass::host_state;
  }

  const Plan& plan_;
  Rank rank_;  // any of the stage
  WindowTensors chosen_;
};

}  // namespace

WindowTensors window_tensors(const Plan& plan, Stage stage, const StageProgram& program) {
  Chooser chooser(plan, stage);
  for (const LayerProgram& layer : program.layers) {
    chooser.add(layer.forward, layer.tensors);
    chooser.add(layer.backward, layer.tensors);
  }
  chooser.add(program.prologue, program.state);
  chooser.add(program.epilogue, program.state);
  return std::move(chooser).chosen();
}

}  // namespace pleat
