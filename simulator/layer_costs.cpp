// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reduces a layer program, or a pair of them, to its cost record, and adds up chunks of layers.
#include "simulator/layer_costs.hpp"

#include <algorithm>
#include <utility>

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
                    const PairRows& rows, const ClusterView& view, const Profile& profile,
                    bool delay_wgrad, std::optional<Seconds> alone) {
  const LayerTimeline line =
      pair_timeline(forward, backward, rows, view, profile, delay_wgrad, alone);
  PassCost cost = summarise(line);
  cost.memory = memory_along(line.steps, op_bytes(forward, Pass::forward, rows.forward),
                             op_bytes(backward, Pass::backward, rows.backward));
  return cost;
}

// Chunks and pairs of chunks as sums over their layers.

namespace {

bool same_programs(const ChunkProgram& a, const ChunkProgram& b) {
  return std::ranges::equal(a.instances, b.instances,
                            [](const auto& x, const auto& y) { return x.program == y.program; });
}

}  // namespace

void append(PassCost& total, const PassCost& next) {
  total.time += next.time;
  for (std::size_t i = 0; i < kCostClasses; ++i) total.parts[i] += next.parts[i];
  total.memory = then(total.memory, next.memory);
  total.source = std::max(total.source, next.source);
}

StageCosts sum_stage(const StageProgram& stage, std::vector<LayerCosts> layers,
                     const PairSource& pair) {
  StageCosts costs;
  costs.layers = std::move(layers);
  const auto program_at = [&](std::size_t chunk, int position) {
    const auto& instances = stage.chunks[chunk].instances;
    return static_cast<std::size_t>(instances[static_cast<std::size_t>(position)].program);
  };
  const std::size_t chunks = stage.chunks.size();
  const bool splits = std::ranges::any_of(
      stage.layers, [](const LayerProgram& layer) { return layer.weight_ops.has_value(); });
  for (std::size_t c = 0; c < chunks; ++c) {
    PassCost forward, backward;
    const int count = static_cast<int>(stage.chunks[c].instances.size());
    for (int i = 0; i < count; ++i) append(forward, costs.layers[program_at(c, i)].forward);
    for (int i = count - 1; i >= 0; --i) append(backward, costs.layers[program_at(c, i)].backward);
    costs.forward.push_back(forward);
    costs.backward.push_back(backward);
    if (!splits) continue;
    PassCost input, weight;
    for (int i = count - 1; i >= 0; --i) {
      append(input, costs.layers[program_at(c, i)].input);
      append(weight, costs.layers[program_at(c, i)].weight);
    }
    costs.input.push_back(input);
    costs.weight.push_back(weight);
  }
  if (!pair) return costs;

  // Chunks of the same layers pair alike.
  std::vector<std::size_t> alike(chunks);
  for (std::size_t c = 0; c < chunks; ++c) {
    while (!same_programs(stage.chunks[alike[c]], stage.chunks[c])) ++alike[c];
  }
  costs.pairs.resize(chunks * chunks);
  for (std::size_t f = 0; f < chunks; ++f) {
    for (std::size_t b = 0; b < chunks; ++b) {
      PassCost& total = costs.pairs[f * chunks + b];
      if (alike[f] != f || alike[b] != b) {
        total = costs.pairs[alike[f] * chunks + alike[b]];
        continue;
      }
      const ChunkId fc{static_cast<int>(f)}, bc{static_cast<int>(b)};
      for (const PairedPosition& at : pair_positions(stage, fc, bc)) {
        if (at.backward < 0) {
          append(total, costs.layers[program_at(f, at.forward)].forward);
        } else if (at.forward < 0) {
          append(total, costs.layers[program_at(b, at.backward)].backward);
        } else {
          append(total, pair(program_at(f, at.forward), program_at(b, at.backward)));
        }
      }
    }
  }
  return costs;
}

}  // namespace pleat
