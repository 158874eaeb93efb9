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
      std::max(Seconds(0), line.host - (line.streams.end + line.lost_to_shards)) + line.host_extra;
  cost.parts[static_cast<std::size_t>(CostClass::ep_comm)] += line.lost_overlap;
  cost.parts[static_cast<std::size_t>(CostClass::dp_comm)] += line.lost_to_shards;
  for (const OpCost& op : line.costs) cost.source = std::max(cost.source, op.source);
  return cost;
}

PassCost price_pass(const TimedLayer& timed, Pass pass, const Binding& capacity,
                    const ClusterView& view, const Profile& profile, Flops& flops) {
  const LayerTimeline line = pass_timeline(timed, pass, view, profile);
  PassCost cost = summarise(line);
  for (const OpCost& op : line.costs) flops += op.flops;
  const OpBytes bytes = op_bytes(timed.layer, pass, capacity);
  cost.memory = memory_along(line.steps, bytes, bytes);
  return cost;
}

}  // namespace

LayerCosts price(const TimedLayer& timed, const Binding& capacity, const ClusterView& view,
                 const Profile& profile) {
  LayerCosts costs;
  costs.forward = price_pass(timed, Pass::forward, capacity, view, profile, costs.flops);
  costs.backward = price_pass(timed, Pass::backward, capacity, view, profile, costs.flops);
  if (timed.layer.weight_ops) {
    const OpBytes bytes = op_bytes(timed.layer, Pass::backward, capacity);
    for (const SlotPart part : {SlotPart::input_gradients, SlotPart::weight_gradients}) {
      const LayerTimeline line = part_timeline(timed, part, view, profile);
      PassCost& cost = part == SlotPart::input_gradients ? costs.input : costs.weight;
      cost = summarise(line);
      cost.memory = memory_along(line.steps, bytes, bytes);
    }
  }
  return costs;
}

LayerCosts price(const LayerProgram& layer, const Binding& expected, const Binding& capacity,
                 const ClusterView& view, const Profile& profile) {
  return price({layer, price_ops(layer, expected, view, profile)}, capacity, view, profile);
}

PassCost price_pair(const TimedLayer& forward, const TimedLayer& backward, const PairRows& rows,
                    const ClusterView& view, const Profile& profile, bool delay_wgrad,
                    std::optional<Seconds> alone) {
  const LayerTimeline line = pair_timeline(forward, backward, view, profile, delay_wgrad, alone);
  PassCost cost = summarise(line);
  cost.memory = memory_along(line.steps, op_bytes(forward.layer, Pass::forward, rows.forward),
                             op_bytes(backward.layer, Pass::backward, rows.backward));
  return cost;
}

PassCost price_pair(const LayerProgram& forward, const LayerProgram& backward,
                    const PairRows& rows, const ClusterView& view, const Profile& profile,
                    bool delay_wgrad) {
  const PricedLayer f = price_ops(forward, rows.forward, view, profile);
  const PricedLayer b = price_ops(backward, rows.backward, view, profile);
  return price_pair({forward, f}, {backward, b}, rows, view, profile, delay_wgrad);
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

namespace {

// For every chunk the first one of the same layers.
std::vector<std::size_t> alike_chunks(const StageProgram& stage) {
  std::vector<std::size_t> alike(stage.chunks.size());
  for (std::size_t c = 0; c < alike.size(); ++c) {
    while (!same_programs(stage.chunks[alike[c]], stage.chunks[c])) ++alike[c];
  }
  return alike;
}

class StageSum {
 public:
  StageSum(const StageProgram& stage, std::span<const LayerCosts* const> layers)
      : stage_(stage), layers_(layers), alike_(alike_chunks(stage)) {}

  // One pass through every chunk.
  [[nodiscard]] std::vector<PassCost> passes(Pass pass, PassCost LayerCosts::*cost) const {
    std::vector<PassCost> sums;
    sums.reserve(alike_.size());
    for (std::size_t c = 0; c < alike_.size(); ++c) {
      if (alike_[c] != c) {
        sums.push_back(sums[alike_[c]]);
        continue;
      }
      PassCost& sum = sums.emplace_back();
      const auto add = [&](const LayerInstance& i) { append(sum, layer(i).*cost); };
      const std::vector<LayerInstance>& instances = stage_.chunks[c].instances;
      if (pass == Pass::forward) std::ranges::for_each(instances, add);
      else std::ranges::for_each(instances.rbegin(), instances.rend(), add);
    }
    return sums;
  }

  // Every chunk's forward pass beside every chunk's backward pass.
  void add_pairs(const PairSource& pair, StageCosts& costs) {
    const std::size_t chunks = alike_.size();
    known_.assign(layers_.size() * layers_.size(), nullptr);
    costs.pair_of.reserve(chunks * chunks);
    for (std::size_t f = 0; f < chunks; ++f) {
      for (std::size_t b = 0; b < chunks; ++b) {
        if (alike_[f] != f || alike_[b] != b) {
          costs.pair_of.push_back(costs.pair_of[alike_[f] * chunks + alike_[b]]);
          continue;
        }
        costs.pair_of.push_back(static_cast<std::int32_t>(costs.pairs.size()));
        costs.pairs.push_back(pair_of(f, b, pair));
      }
    }
  }

 private:
  [[nodiscard]] const LayerCosts& layer(const LayerInstance& i) const {
    return *layers_[static_cast<std::size_t>(i.program)];
  }

  [[nodiscard]] PassCost pair_of(std::size_t f, std::size_t b, const PairSource& pair) {
    const auto& forward = stage_.chunks[f].instances;
    const auto& backward = stage_.chunks[b].instances;
    PassCost sum;
    const ChunkId fc{static_cast<int>(f)}, bc{static_cast<int>(b)};
    for_each_pair(stage_, fc, bc, [&](const PairedPosition& at) {
      const auto of = [](const auto& instances, int i) -> const LayerInstance& {
        return instances[static_cast<std::size_t>(i)];
      };
      if (at.backward < 0) append(sum, layer(of(forward, at.forward)).forward);
      else if (at.forward < 0) append(sum, layer(of(backward, at.backward)).backward);
      else append(sum, known(of(forward, at.forward), of(backward, at.backward), pair));
    });
    return sum;
  }

  // Each pair of layers is asked for once.
  const PassCost& known(const LayerInstance& f, const LayerInstance& b, const PairSource& pair) {
    const auto forward = static_cast<std::size_t>(f.program);
    const auto backward = static_cast<std::size_t>(b.program);
    const PassCost*& cost = known_[forward * layers_.size() + backward];
    if (cost == nullptr) cost = &pair(forward, backward);
    return *cost;
  }

  const StageProgram& stage_;
  std::span<const LayerCosts* const> layers_;
  std::vector<std::size_t> alike_;
  std::vector<const PassCost*> known_;  // [forward layer * layers + backward layer]
};

}  // namespace

StageCosts sum_stage(const StageProgram& stage, std::span<const LayerCosts* const> layers,
                     const PairSource& pair) {
  StageSum sum(stage, layers);
  StageCosts costs;
  costs.forward = sum.passes(Pass::forward, &LayerCosts::forward);
  costs.backward = sum.passes(Pass::backward, &LayerCosts::backward);
  const bool splits = std::ranges::any_of(
      stage.layers, [](const LayerProgram& layer) { return layer.weight_ops.has_value(); });
  if (splits) {
    costs.input = sum.passes(Pass::backward, &LayerCosts::input);
    costs.weight = sum.passes(Pass::backward, &LayerCosts::weight);
  }
  if (pair) sum.add_pairs(pair, costs);
  return costs;
}

}  // namespace pleat
