// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The parts of bounds that many plans share: layouts, bounds of layers, step operations, schedules.
#include <algorithm>

#include "planner/bounds/bounds.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

// Whether the plan treats all decoder layers of a kind alike, each by itself.
bool alike(const Plan& plan) {
  return plan.offload_layers == 0 &&
         (!plan.recompute_full || (plan.recompute_layers == 0 && plan.recompute_unit == 1));
}

}  // namespace

const CountedLayers& BoundTable::counted_of(const PlanParts& parts, const Plan& plan) {
  if (alike(plan)) return counted_;
  return counted_apart_.get(parts.layout, [&] {
    return CountedLayers(problem_.model, problem_.workload, *parts.stages);
  });
}

BoundScope BoundTable::scope_of(const PlanParts& parts, const Plan& plan) {
  const bool more = plan.overlap.expert_parallel && counted_of(parts, plan).pairs_more();
  return more ? BoundScope::pairs : BoundScope::setting;
}

const BoundTable::Shape& BoundTable::shape_of(const PlanParts& parts, const Plan& plan) {
  return shapes_.get(parts.layout, [&] {
    Shape shape;
    const CountedLayers& counted = counted_of(parts, plan);
    shape.counted = &counted;
    const auto present = [](const std::vector<int>& counts) {
      Counts list;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) list.push_back({i, counts[i]});
      }
      return list;
    };
    for (const StageComposition& stage : *parts.stages) {
      auto& kind_of = shape.kind_of.emplace_back();
      std::vector<int> all(counted.variants().size());
      bool whole = true;
      for (const auto& chunk : stage.chunks) {
        std::vector<int> counts(all.size());
        int decoders = 0;
        for (const PlacedLayer& placed : chunk) {
          const LayerVariant& variant = stage.variants[static_cast<std::size_t>(placed.variant)];
          const int layer = counted.index_of(variant);
          decoders += is_decoder(variant) ? 1 : 0;
          const auto index = static_cast<std::size_t>(layer);
          whole = whole && layer >= 0 && counted.stand_in(index) == index;
          if (layer < 0) continue;
          ++counts[index];
          ++all[index];
        }
        const Counts list = present(counts);
        std::size_t kind = 0;
        while (kind < shape.kinds.size() &&
               (shape.kinds[kind] != list || shape.decoders[kind] != decoders)) {
          ++kind;
        }
        kind_of.push_back(kind);
        if (kind == shape.kinds.size()) {
          shape.kinds.push_back(list);
          shape.decoders.push_back(decoders);
        }
      }
      shape.of_stage.push_back(present(all));
      shape.whole.push_back(whole);
    }
    return shape;
  });
}

const BoundTable::Layers& BoundTable::layers_of(const PlanParts& parts, const Plan& plan,
                                                BoundScope scope) {
  CompiledLayers compiled;
  return layers_of(parts, plan, scope, 0, compiled);
}

BoundTable::Layers BoundTable::made_layers(const PlanParts& parts, const Plan& plan,
                                           BoundScope scope, int clock,
                                           CompiledLayers& compiled) {
  const bool burst = clock == 0;
  compiled.add(*parts.library);
  return bound_layers(
      counted_of(parts, plan), *parts.library,
      {.paired = plan.overlap.expert_parallel, .split = splits_backward(plan.schedule)}, scope,
      burst ? kClockSteps : clock, burst ? problem_.profile : profile_at(clock));
}

const BoundTable::Layers& BoundTable::layers_of(const PlanParts& parts, const Plan& plan,
                                                BoundScope scope, int clock,
                                                CompiledLayers& compiled) {
  const NumberKey<4> key{
      {parts.layers, static_cast<int>(scope), clock, alike(plan) ? 0 : parts.layout}};
  return layers_.get(key, [&] { return made_layers(parts, plan, scope, clock, compiled); });
}

const Profile& BoundTable::profile_at(int clock) {
  return profiles_.get(clock, [&] { return pleat::at_clock(problem_.profile, clock); });
}

// Besides its decoder layer, multi-token prediction has a product [2h, h] and norms.
StageWeights BoundTable::weights_of(const Counts& stage, bool whole, const Layers& layers) const {
  StageWeights sum{.weights = {},
                   .more = whole ? 0 : 4 * problem_.model.hidden * problem_.model.hidden};
  std::int64_t tables = 0;
  for (const auto& [i, count] : stage) {
    const LayerWeights& w = layers[i].weights;
    for (std::size_t b = 0; b < w.of.size(); ++b) {
      sum.weights.of[b] += count * w.of[b];
      sum.weights.replicated[b] += count * w.replicated[b];
    }
    if (w.table == 0) continue;
    sum.weights.table = w.table;
    tables += count;
  }
  if (tables > 1) {  // they share one
    sum.weights.of[0] -= (tables - 1) * sum.weights.table;
  }
  return sum;
}

const StepTail& BoundTable::tail_of(const Plan& plan, const PlanParts& parts, const Shape& shape,
                                    const Layers& layers) {
  const OptimizerPlan& o = plan.optimizer;
  const auto type = [](auto word) { return static_cast<std::int32_t>(word); };
  const auto bits = [](double share) { return static_cast<std::int32_t>(share * (1 << 30)); };
  const NumberKey<24> key{{parts.layout, plan.attention.tp, plan.attention.cp, plan.attention.dp,
                           plan.expert.etp, plan.expert.ep, plan.expert.redundant,
                           type(plan.sharding),
                           type(plan.precision), plan.fp8_params ? 1 : 0, type(o.kind),
                           type(o.main_grads),
                           type(o.main_params), type(o.exp_avg), type(o.exp_avg_sq),
                           o.grad_reduce ? type(*o.grad_reduce) : -1, bits(o.state_offload),
                           bits(o.cpu_offload), o.cpu_offload_overlapped ? 1 : 0,
                           plan.optimizer_instances, plan.fsdp_group,
                           plan.ddp_bucket_size}};
  return tails_.get(key, [&] {
    std::vector<StageWeights> weights;
    for (std::size_t s = 0; s < shape.of_stage.size(); ++s) {
      weights.push_back(weights_of(shape.of_stage[s], shape.whole[s], layers));
    }
    return step_tail(weights, problem_.model, plan, runtime_, problem_.cluster,
                     problem_.profile);
  });
}

const SplitOrder& BoundTable::order_of(Schedule schedule) {
  schedule.paired = false;
  return orders_.get(schedule_key(schedule), [&] { return split_order(schedule); });
}

}  // namespace pleat
