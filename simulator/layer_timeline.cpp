// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Timelines of passes and pairs of passes from the price of every op.
#include "simulator/layer_timeline.hpp"

#include <algorithm>

#include "core/program/op_graph.hpp"

namespace pleat {
namespace {

bool is_transfer(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }

// Does the host launch the op on its own, or is it inside a captured graph? Partial graphs leave
// out what lies between dispatch and combine, whose sizes the host must know.
bool launched_by_host(const Op& op, CudaGraph graph) {
  switch (graph) {
    case CudaGraph::none: return true;
    case CudaGraph::full_iteration: return false;
    case CudaGraph::partial:
      return op.module == Module::dispatch || op.module == Module::experts ||
             op.module == Module::moe_act || op.module == Module::combine;
  }
  return true;
}

struct OpLists {
  const LayerProgram* forward = nullptr;
  const LayerProgram* backward = nullptr;
  [[nodiscard]] const LayerProgram& layer(Pass p) const {
    return p == Pass::forward ? *forward : *backward;
  }
};

LayerTimeline run(std::vector<PairStep> steps, const OpLists& lists, const Binding& binding,
                  const ClusterView& view, const Profile& profile) {
  LayerTimeline line;
  line.steps = std::move(steps);
  std::vector<StreamOp> ops;
  ops.reserve(line.steps.size());
  bool two_streams = false;
  int launches = 0;
  for (const PairStep& step : line.steps) {
    const LayerProgram& layer = lists.layer(step.pass);
    const Op& op = layer.ops(step.pass)[static_cast<std::size_t>(step.op)];
    line.costs.push_back(price_op(op, layer.tensors, binding, view, profile));
    if (launched_by_host(op, view.cuda_graph)) ++launches;
    const OpCost& cost = line.costs.back();
    ops.push_back({is_transfer(op) ? Seconds(0) : cost.time, cost.cls, step.stream, {}});
    two_streams = two_streams || step.stream == Stream::comm;
  }
  if (two_streams) {  // else program order is all there is
    for (Pass pass : {Pass::forward, Pass::backward}) {
      if (lists.layer(pass).ops(pass).empty()) continue;
      const std::vector<std::vector<int>> deps = dependencies(lists.layer(pass).ops(pass));
      std::vector<int> place(deps.size(), -1);  // of the op among the steps
      for (std::size_t i = 0; i < line.steps.size(); ++i) {
        if (line.steps[i].pass != pass) continue;
        const auto own = static_cast<std::size_t>(line.steps[i].op);
        place[own] = static_cast<int>(i);
        for (int before : deps[own]) {
          const int at = place[static_cast<std::size_t>(before)];
          PLEAT_ASSERT(at >= 0);
          ops[i].after.push_back(at);
        }
      }
    }
  }
  line.streams = run_streams(ops);
  line.host = profile.host_per_op * launches;
  return line;
}

}  // namespace

LayerTimeline pass_timeline(const LayerProgram& layer, Pass pass, const Binding& binding,
                            const ClusterView& view, const Profile& profile) {
  std::vector<PairStep> steps;
  const std::vector<Op>& ops = layer.ops(pass);
  steps.reserve(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    steps.push_back({pass, static_cast<int>(i), ops[i].stream});
  }
  static const LayerProgram kNothing;
  const OpLists lists = pass == Pass::forward ? OpLists{&layer, &kNothing}
                                              : OpLists{&kNothing, &layer};
  return run(std::move(steps), lists, binding, view, profile);
}

LayerTimeline pair_timeline(const LayerProgram& forward, const LayerProgram& backward,
                            const Binding& binding, const ClusterView& view,
                            const Profile& profile, bool delay_wgrad) {
  return run(pair_layers(forward, backward, delay_wgrad), {&forward, &backward}, binding, view,
             profile);
}

}  // namespace pleat
