// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/program/compile_stage.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/summarise_step.hpp"

namespace pleat {
namespace {

// Whether all decoder layers of a kind are treated the same, one by one.
bool alike(const Plan& plan) {
  return plan.offload_layers == 0 &&
         (!plan.recompute_full || (plan.recompute_layers == 0 && plan.recompute_unit == 1));
}

// Clocks bounds are worked out for: so many steps of kClockSteps apart.
constexpr int kClockGrid = 8;

}  // namespace

Plan in_order(Plan plan) {
  const OverlapFlags family = plan.overlap;
  plan.overlap = {};
  plan.overlap.tensor_parallel = family.tensor_parallel;
  plan.overlap.tile_level = family.tile_level;
  return plan;
}

BoundTable::BoundTable(const Estimator& estimator, const ModelSpec& model,
                       const WorkloadSpec& workload, const ClusterSpec& cluster,
                       const Profile& profile, Runtime runtime)
    : estimator_(estimator),
      model_(model),
      workload_(workload),
      cluster_(cluster),
      profile_(profile),
      runtime_(runtime),
      counted_(model) {}

const CountedLayers& BoundTable::counted_of(const PlanParts& parts, const Plan& plan) {
  if (alike(plan)) return counted_;
  return counted_apart_.get(parts.layout, [&] {
    return std::make_unique<CountedLayers>(model_, *parts.stages);
  });
}

const BoundTable::Shape& BoundTable::shape_of(const PlanParts& parts, const Plan& plan) {
  return shapes_.get(parts.layout, [&] {
    auto shape = std::make_unique<Shape>();
    const CountedLayers& counted = counted_of(parts, plan);
    shape->counted = &counted;
    const auto present = [](const std::vector<int>& counts) {
      Counts list;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) list.push_back({i, counts[i]});
      }
      return list;
    };
    for (const StageComposition& stage : *parts.stages) {
      auto& kind_of = shape->kind_of.emplace_back();
      std::vector<int> all(counted.variants().size());
      bool whole = true;
      for (const auto& chunk : stage.chunks) {
        std::vector<int> counts(all.size());
        for (const PlacedLayer& placed : chunk) {
          const int layer =
              counted.index_of(stage.variants[static_cast<std::size_t>(placed.variant)]);
          const auto index = static_cast<std::size_t>(layer);
          whole = whole && layer >= 0 && counted.stand_in(index) == index;
          if (layer < 0) continue;
          ++counts[index];
          ++all[index];
        }
        const Counts list = present(counts);
        const auto known = std::ranges::find(shape->kinds, list);
        kind_of.push_back(static_cast<std::size_t>(known - shape->kinds.begin()));
        if (known == shape->kinds.end()) shape->kinds.push_back(list);
      }
      shape->of_stage.push_back(present(all));
      shape->whole.push_back(whole);
    }
    return shape;
  });
}

const BoundTable::Layers& BoundTable::layers_of(const PlanParts& parts, const Plan& plan,
                                                BoundScope scope, int clock) {
  const NumberKey<4> key{
      {parts.layers, static_cast<int>(scope), clock, alike(plan) ? 0 : parts.layout}};
  return layers_.get(key, [&] {
    const bool burst = clock == 0;
    return std::make_unique<Layers>(bound_layers(
        counted_of(parts, plan), *parts.library,
        {.paired = plan.overlap.expert_parallel, .split = splits_backward(plan.schedule)}, scope,
        burst ? kClockSteps : clock, burst ? profile_ : profile_at(clock)));
  });
}

const Profile& BoundTable::profile_at(int clock) {
  return profiles_.get(clock, [&] {
    return std::make_unique<Profile>(pleat::at_clock(profile_, clock));
  });
}

int BoundTable::highest_clock(const Plan& plan, const Shape& shape, const Layers& layers,
                              Seconds cutoff) const {
  const auto microbatches = static_cast<double>(plan.microbatches(workload_.global_batch));
  Seconds least;  // matrix time of a stage
  for (std::size_t s = 0; s < shape.kind_of.size(); ++s) {
    Seconds matrix;
    for (const std::size_t kind : shape.kind_of[s]) {
      for (const auto& [i, count] : shape.kinds[kind]) matrix += layers[i].matrix * count;
    }
    if (s == 0 || matrix < least) least = matrix;
  }
  StepEstimate e;
  e.step = cutoff;
  e.parts[static_cast<std::size_t>(CostClass::gemm)] = std::min(cutoff, microbatches * least);
  const int clock = sustained_clock(profile_.sustained_clock, e);
  return std::min(kClockSteps, (clock + kClockGrid - 1) / kClockGrid * kClockGrid);
}

// Multi-token prediction has beside its decoder layer a product [2h, h] and norms.
StageWeights BoundTable::weights_of(const Counts& stage, bool whole, const Layers& layers) const {
  StageWeights sum{.weights = {}, .more = whole ? 0 : 4 * model_.hidden * model_.hidden};
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
                           plan.expert.etp, plan.expert.ep, type(plan.sharding),
                           type(plan.precision), plan.fp8_params ? 1 : 0, type(o.kind),
                           type(o.main_grads),
                           type(o.main_params), type(o.exp_avg), type(o.exp_avg_sq),
                           o.grad_reduce ? type(*o.grad_reduce) : -1, bits(o.state_offload),
                           bits(o.cpu_offload), o.cpu_offload_overlapped ? 1 : 0,
                           plan.optimizer_instances, plan.fsdp_group}};
  return tails_.get(key, [&] {
    std::vector<StageWeights> weights;
    for (std::size_t s = 0; s < shape.of_stage.size(); ++s) {
      weights.push_back(weights_of(shape.of_stage[s], shape.whole[s], layers));
    }
    return std::make_unique<StepTail>(
        step_tail(weights, model_, plan, runtime_, cluster_, profile_));
  });
}

const SplitOrder& BoundTable::order_of(Schedule schedule) {
  schedule.paired = false;
  return orders_.get(schedule_key(schedule), [&] {
    return std::make_unique<SplitOrder>(split_order(schedule));
  });
}

std::vector<ChunkBound> BoundTable::layer_times(const Sources& from) const {
  std::vector<ChunkBound> times;
  times.reserve(from.layers.size());
  for (std::size_t i = 0; i < from.layers.size(); ++i) {
    const LayerBound& layer = from.layers[i];
    const Seconds host = from.host == nullptr
                             ? Seconds(0)
                             : host_time(from.shape.counted->variants()[i], *from.host, profile_);
    ChunkBound& time = times.emplace_back();
    for (std::size_t p = 0; p < 2; ++p) {
      time.pass[p] = (from.exchanges ? layer.exchanges[p] : layer.time[p]) +
                     host * (p == 0 ? 1.0 / 3 : 2.0 / 3);
      if (from.exchanges) continue;
      time.alone[p] = layer.alone[p];
      time.half[p] = layer.half[p] + host * (1.0 / 3);
    }
  }
  return times;
}

BoundTable::Pipeline BoundTable::pipeline(const Plan& plan, const Sources& from) {
  const Shape& shape = from.shape;
  const std::vector<ChunkBound> times = layer_times(from);
  std::vector<ChunkBound> kinds;
  kinds.reserve(shape.kinds.size());
  Seconds transfer;
  for (const Counts& counts : shape.kinds) {
    ChunkBound& chunk = kinds.emplace_back();
    for (const auto& [i, count] : counts) {
      transfer = std::max(transfer, from.layers[i].send);
      for (std::size_t p = 0; p < 2; ++p) {
        chunk.pass[p] += times[i].pass[p] * count;
        chunk.alone[p] += times[i].alone[p] * count;
        chunk.half[p] += times[i].half[p] * count;
      }
    }
  }
  std::vector<ChunkBound> chunks;
  chunks.reserve(shape.kind_of.size() * shape.kind_of.front().size());
  std::vector<std::optional<StagePasses>> passes;
  for (std::size_t s = 0; s < shape.kind_of.size(); ++s) {
    for (const std::size_t kind : shape.kind_of[s]) chunks.push_back(kinds[kind]);
    if (!from.passes) continue;
    StagePasses all;
    for (const std::size_t kind : shape.kind_of[s]) {
      for (std::size_t p = 0; p < 2; ++p) all.pass[p] += kinds[kind].pass[p] + kinds[kind].alone[p];
    }
    // At the lowest clock everything takes no longer than so much more.
    const double slower = 1 / duty_clock(profile_.sustained_clock, 1.0);
    for (Seconds& pass : all.pass) pass *= slower;
    passes.push_back(shape.whole[s] ? std::optional(all) : std::nullopt);
  }
  // A tensor that is sent in shares and gathered is cheaper than in one piece.
  if (plan.attention.tp > 1 && !plan.sequence_parallel) transfer = Seconds(0);
  const Schedule schedule = schedule_of(plan, workload_);
  const SplitOrder* const order =
      splits_backward(plan.schedule) ? &order_of(schedule) : nullptr;
  return {earliest_finish(schedule, chunks, transfer, order), std::move(passes)};
}

// With stragglers, and what the host does beside; ranks that wait may leave their cores to others.
Seconds BoundTable::outside_pipeline(const Plan& plan, Seconds end_of_stages,
                                     const Pipeline& pipeline) const {
  return (end_of_stages +
          *std::ranges::max_element(pipeline.finish) * workload_.straggler_slowdown) *
             least_share(cluster_, plan.world(), pipeline.finish.size()) +
         profile_.step_overhead;
}

Seconds BoundTable::step(const Plan& plan, const PlanParts& parts, const Sources& from) {
  return step(plan, parts, from, pipeline(plan, from));
}

Seconds BoundTable::step(const Plan& plan, const PlanParts& parts, const Sources& from,
                         const Pipeline& pipeline) {
  const StepTail& tail = tail_of(plan, parts, from.shape, from.layers);
  return outside_pipeline(
      plan,
      step_end(tail, plan, runtime_, profile_, plan.microbatches(workload_.global_batch),
               pipeline.finish, pipeline.passes),
      pipeline);
}

PlanBounds BoundTable::own(const Plan& plan, Seconds cutoff) {
  const PlanParts parts = estimator_.parts(plan);
  PlanBounds bounds{own_step(plan, parts, plan, cutoff, true)};
  if (bounds.step > cutoff) return bounds;
  const Layers& layers = layers_of(parts, plan, BoundScope::setting);
  bounds.peak_bytes =
      peak(plan, plan.sharding, shape_of(parts, plan), layers, 1) + outside(plan);
  return bounds;
}

Seconds BoundTable::by_reference(const Plan& reference, const Plan& plan, Seconds cutoff) {
  return own_step(reference, estimator_.parts(reference), plan, cutoff, false);
}

Seconds BoundTable::own_step(const Plan& of_layers, const PlanParts& parts, const Plan& plan,
                             Seconds cutoff, bool passes) {
  const Shape& shape = shape_of(parts, of_layers);
  const Layers& layers = layers_of(parts, of_layers, BoundScope::setting);
  const Seconds bound = step(plan, parts, {.shape = shape, .layers = layers, .passes = passes});
  const double limit = cutoff.base();
  if (profile_.sustained_clock.duty_slope <= 0 || std::isinf(limit) || bound > cutoff) return bound;
  const int clock = highest_clock(plan, shape, layers, cutoff);
  if (clock >= kClockSteps) return bound;
  const Layers& slower = layers_of(parts, of_layers, BoundScope::setting, clock);
  const Seconds excluded(std::nextafter(limit, 2 * limit));
  return std::max(bound, std::min(excluded, step(plan, parts, {.shape = shape, .layers = slower,
                                                               .passes = passes})));
}

PlanBounds BoundTable::mesh(const Plan& plan, const StateChoices& state) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts, plan);
  const Layers& layers = layers_of(parts, plan, BoundScope::mesh);
  Plan lean = plan;
  put_state(state.place, lean);
  put_shards(lean.sharding, 0, lean);
  const Pipeline stages = pipeline(plan, {.shape = shape, .layers = layers});
  return {outside_pipeline(plan, *std::ranges::max_element(stages.finish), stages),
          peak(lean, state.shardings.back(), shape, layers, 0)};
}

Seconds BoundTable::whole_mesh(const Plan& plan, const StateChoices& state) {
  const PlanParts parts = estimator_.parts(plan);
  return least_step(plan, state, parts,
                    {.shape = shape_of(parts, plan),
                     .layers = layers_of(parts, plan, BoundScope::mesh)});
}

Seconds BoundTable::least_step(Plan plan, const StateChoices& state, const PlanParts& parts,
                               const Sources& from) {
  Seconds least(std::numeric_limits<double>::infinity());
  const Pipeline stages = pipeline(plan, from);
  for (const Sharding sharding : state.shardings) {
    for (const int domain : state.domains) {
      put_shards(sharding, domain, plan);
      least = std::min(least, step(plan, parts, from, stages));
    }
  }
  return least;
}

std::int64_t BoundTable::least_peak(const Plan& plan, Sharding least, double share) {
  const PlanParts parts = estimator_.parts(plan);
  return peak(plan, least, shape_of(parts, plan), layers_of(parts, plan, BoundScope::family),
              share);
}

std::int64_t BoundTable::least_state(Plan plan, StatePlace least) {
  put_state(least, plan);
  plan = in_order(plan);
  const PlanParts parts = estimator_.parts(plan);
  return peak(plan, plan.sharding, shape_of(parts, plan),
              layers_of(parts, plan, BoundScope::family), 0);
}

Seconds BoundTable::graph(const Plan& plan, CudaGraph graph, const StateChoices& state) {
  const PlanParts parts = estimator_.parts(plan);
  const Layers& layers = layers_of(parts, plan, BoundScope::mesh);
  return least_step(plan, state, parts,
                    {.shape = shape_of(parts, plan), .layers = layers, .host = &graph});
}

PlanBounds BoundTable::family(const Plan& plan, Seconds cutoff) {
  const Plan ordered = in_order(plan);
  const PlanParts parts = estimator_.parts(ordered);
  PlanBounds bounds{family_step(ordered, parts, plan, cutoff)};
  if (bounds.step > cutoff) return bounds;
  const Layers& layers = layers_of(parts, ordered, BoundScope::family);
  bounds.peak_bytes =
      peak(plan, plan.sharding, shape_of(parts, plan), layers, 1) + outside(plan);
  return bounds;
}

std::int64_t BoundTable::peak_of_family(const Plan& plan) {
  const Plan ordered = in_order(plan);
  const PlanParts parts = estimator_.parts(ordered);
  return peak(plan, plan.sharding, shape_of(parts, plan),
              layers_of(parts, ordered, BoundScope::family), 1) +
         outside(plan);
}

Seconds BoundTable::family_by_reference(const Plan& reference, const Plan& plan, Seconds cutoff) {
  const Plan ordered = in_order(reference);
  return family_step(ordered, estimator_.parts(ordered), plan, cutoff);
}

Seconds BoundTable::family_step(const Plan& ordered, const PlanParts& parts, const Plan& plan,
                                Seconds cutoff) {
  const Shape& shape = shape_of(parts, ordered);
  const Layers& layers = layers_of(parts, ordered, BoundScope::family);
  const CudaGraph* host = &ordered.cuda_graph;
  const Seconds time = step(plan, parts, {.shape = shape, .layers = layers, .host = host});
  if (time > cutoff) return time;
  return std::max(time, step(plan, parts, {.shape = shape, .layers = layers, .host = host,
                                           .exchanges = true}));
}

}  // namespace pleat
