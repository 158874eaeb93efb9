// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reduces a layer program, or a pair of them, to its cost record.
#include <algorithm>

#include "simulator/layer_memory.hpp"
#include "simulator/layer_timeline.hpp"

namespace pleat {
namespace {

PassCost summarise(const LayerTimeline& line) {
  PassCost cost{.time = line.time(), .parts = line.streams.parts,
                .streams = line.streams.end, .memory = {}};
  // Host-bound: the device waits for launches for the rest of the time.
  cost.parts[static_cast<std::size_t>(CostClass::host)] +=
      std::max(Seconds(0), line.host - line.streams.end) + line.host_extra;
  cost.parts[static_cast<std::size_t>(CostClass::ep_comm)] += line.lost_overlap;
  cost.parts[static_cast<std::size_t>(CostClass::dp_comm)] += line.lost_to_shards;
  for (const OpCost& op : line.costs) cost.source = std::max(cost.source, op.source);
  return cost;
}

PassCost price_pass(const LayerProgram& layer, Pass pass, const Binding& expected,
                    const Binding& capacity, const ClusterView& view, const Profile& profile,
                    Flops& flops) {
  const LayerTimeline line = pass_timeline(layer, pass, expected, view, profile);
  PassCost cost = summarise(line);
  for (const OpCost& op : line.costs) flops += op.flops;
  const OpBytes bytes = op_bytes(layer, pass, capacity);
  cost.memory = memory_along(line.steps, bytes, bytes);
  return cost;
}

}  // namespace

LayerCosts price(const LayerProgram& layer, const Binding& expected, const Binding& capacity,
                 const ClusterView& view, const Profile& profile) {
  LayerCosts costs;
  costs.forward =
      price_pass(layer, Pass::forward, expected, capacity, view, profile, costs.flops);
  costs.backward =
      price_pass(layer, Pass::backward, expected, capacity, view, profile, costs.flops);
  if (layer.weight_ops) {
    const OpBytes bytes = op_bytes(layer, Pass::backward, capacity);
    for (const SlotPart part : {SlotPart::input_gradients, SlotPart::weight_gradients}) {
      const LayerTimeline line = part_timeline(layer, part, expected, view, profile);
      PassCost& cost = part == SlotPart::input_gradients ? costs.input : costs.weight;
      cost = summarise(line);
      cost.memory = memory_along(line.steps, bytes, bytes);
    }
  }
  return costs;
}

PassCost price_pair(const LayerProgram& forward, const LayerProgram& backward,
                    const Binding& binding, const ClusterView& view, const Profile& profile,
                    bool delay_wgrad, std::optional<Seconds> alone) {
  const LayerTimeline line =
      pair_timeline(forward, backward, binding, view, profile, delay_wgrad, alone);
  PassCost cost = summarise(line);
  cost.memory = memory_along(line.steps, op_bytes(forward, Pass::forward, binding),
                             op_bytes(backward, Pass::backward, binding));
  return cost;
}

}  // namespace pleat
