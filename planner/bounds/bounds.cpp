// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/plan/rank_map.hpp"
#include "core/program/compile_stage.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

// Bounds are computed for a grid of clocks, this many of kClockSteps apart.
constexpr int kClockGrid = 8;

constexpr PassOrder::Near kRoughly{.cutoff = Seconds(0), .step = {}};  // nothing dear

constexpr std::size_t kLayersKept = 20'000;  // 1 to 2 KB each

// Whether what runs beside takes no longer than all else in every layer: then a bound that counts
// it instead is no tighter.
bool hides(const std::vector<LayerBound>& layers, Seconds (LayerBound::*beside)[2]) {
  return std::ranges::all_of(layers, [&](const LayerBound& l) {
    return (l.*beside)[0] <= l.time[0] && (l.*beside)[1] <= l.time[1];
  });
}

}  // namespace

Plan in_order(Plan plan) {
  const OverlapFlags family = plan.overlap;
  plan.overlap = {};
  plan.overlap.gather_beside_step = family.gather_beside_step;
  plan.overlap.tensor_parallel = family.tensor_parallel;
  plan.overlap.tile_level = family.tile_level;
  return plan;
}

CompiledLayers::~CompiledLayers() {
  for (LayerLibrary* library : of_) library->forget(false);
}

void CompiledLayers::add(LayerLibrary& library) {
  if (std::ranges::find(of_, &library) == of_.end()) of_.push_back(&library);
}

BoundTable::BoundTable(const Estimator& estimator, const Problem& problem, Runtime runtime)
    : estimator_(estimator),
      problem_(problem),
      runtime_(runtime),
      counted_(problem.model, problem.workload) {}

int BoundTable::highest_clock(const Plan& plan, const Shape& shape, const Layers& layers,
                              Seconds cutoff) const {
  if (problem_.profile.sustained_clock.duty_slope <= 0 || std::isinf(cutoff.base())) {
    return kClockSteps;
  }
  Seconds most;  // matrix time of a stage
  for (std::size_t s = 0; s < shape.kind_of.size(); ++s) {
    Seconds matrix;
    for (const std::size_t kind : shape.kind_of[s]) {
      for (const auto& [i, count] : shape.kinds[kind]) matrix += layers[i].matrix * count;
    }
    most = std::max(most, matrix);
  }
  StepEstimate e;
  e.step = cutoff;
  e.matrix = std::min(cutoff, passes_of_chunk(plan) * most);
  const int clock = sustained_clock(problem_.profile.sustained_clock, e);
  return std::min(kClockSteps, (clock + kClockGrid - 1) / kClockGrid * kClockGrid);
}

std::vector<ChunkBound> BoundTable::layer_times(const Sources& from) const {
  std::vector<ChunkBound> times;
  times.reserve(from.layers.size());
  for (std::size_t i = 0; i < from.layers.size(); ++i) {
    const LayerBound& layer = from.layers[i];
    const Seconds host = from.host == nullptr ? Seconds(0)
                                              : host_time(from.shape.counted->variants()[i],
                                                          *from.host, problem_.profile);
    ChunkBound& time = times.emplace_back();
    for (std::size_t p = 0; p < 2; ++p) {
      time.pass[p] = (from.beside != nullptr ? (layer.*from.beside)[p] : layer.time[p]) +
                     host * (p == 0 ? 1.0 / 3 : 2.0 / 3);
      if (from.beside != nullptr) continue;
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
  for (std::size_t k = 0; k < shape.kinds.size(); ++k) {
    ChunkBound& chunk = kinds.emplace_back();
    chunk.layers = shape.decoders[k];
    bool first = true;
    for (const auto& [i, count] : shape.kinds[k]) {
      if (is_decoder(shape.counted->variants()[i])) {
        for (std::size_t p = 0; p < 2; ++p) {
          Seconds& least = chunk.least_alone[p];
          least = first ? times[i].alone[p] : std::min(least, times[i].alone[p]);
        }
        first = false;
      }
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
    // Even at the lowest clock nothing takes longer by more than this factor.
    const double slower = 1 / duty_clock(problem_.profile.sustained_clock, 1.0);
    for (Seconds& pass : all.pass) pass *= slower;
    passes.push_back(shape.whole[s] ? std::optional(all) : std::nullopt);
  }
  // A tensor may be sent in shares and gathered, which is cheaper than in one piece.
  if (plan.attention.tp > 1 && !plan.sequence_parallel) transfer = Seconds(0);
  const Schedule schedule = schedule_of(plan, problem_.workload);
  const SplitOrder* const order =
      splits_backward(plan.schedule) ? &order_of(schedule) : nullptr;
  const PassOrder known{.waits_for_sends = runtime_ == Runtime::megatron,
                        .paired = from.one_group && plan.overlap.expert_parallel,
                        .smaller_groups = !from.one_group,
                        .near = from.near};
  return {earliest_finish(schedule, chunks, transfer, order, known), std::move(passes)};
}

BoundTable::Slowdown BoundTable::slowdown_of(const Plan& plan, std::size_t stages) const {
  return {
      slowest_excess(problem_.workload, problem_.profile, problem_.cluster, plan.world()),
      least_share(problem_.cluster, plan.world(), stages)};
}

Seconds BoundTable::outside_pipeline(const Slowdown& slowdown, Seconds end_of_stages,
                                     const std::vector<Seconds>& finish) const {
  return (end_of_stages + *std::ranges::max_element(finish) * slowdown.excess) * slowdown.share +
         problem_.profile.step_overhead;
}

Seconds BoundTable::outside_pipeline(const Plan& plan, Seconds end_of_stages,
                                     const Pipeline& pipeline) const {
  return outside_pipeline(slowdown_of(plan, pipeline.finish.size()), end_of_stages,
                          pipeline.finish);
}

void BoundTable::forget_layers() {
  if (layers_.size() + exchanges_.size() <= kLayersKept) return;
  layers_.clear();
  exchanges_.clear();
}

Seconds BoundTable::step(const Plan& plan, const PlanParts& parts, const Sources& from) {
  return step(plan, parts, from, pipeline(plan, from));
}

Seconds BoundTable::step(const Plan& plan, const PlanParts& parts, const Sources& from,
                         const Pipeline& pipeline) {
  const StepTail& tail = tail_of(plan, parts, from.shape, from.layers);
  return outside_pipeline(
      plan,
      step_end(tail, plan, runtime_, problem_.profile,
               plan.microbatches(problem_.workload.global_batch), pipeline.finish, pipeline.passes),
      pipeline);
}

PlanBounds BoundTable::own(const Plan& plan, Seconds cutoff) {
  CompiledLayers compiled;
  PlanBounds bounds{own_step(plan, cutoff, compiled)};
  if (bounds.step <= cutoff) bounds.peak_bytes = own_peak(plan);
  return bounds;
}

Seconds BoundTable::own_step(const Plan& plan, Seconds cutoff, CompiledLayers& compiled) {
  const PlanParts parts = estimator_.parts(plan);
  const auto with = [&](BoundScope scope) {
    return own_step(plan, parts, plan, scope, cutoff, true, compiled);
  };
  const Seconds time = with(BoundScope::setting);
  const BoundScope tightest = scope_of(parts, plan);
  if (tightest == BoundScope::setting || time > cutoff) return time;
  return std::max(time, with(tightest));
}

std::int64_t BoundTable::own_peak(const Plan& plan) {
  const PlanParts parts = estimator_.parts(plan);
  const Layers& layers = layers_of(parts, plan, BoundScope::setting);
  return own_peak(plan, shape_of(parts, plan), layers);
}

Seconds BoundTable::by_reference(const Plan& reference, const Plan& plan, Seconds cutoff,
                                 CompiledLayers& compiled) {
  return own_step(reference, estimator_.parts(reference), plan, BoundScope::setting, cutoff, false,
                  compiled);
}

template <class StepOf>
Seconds BoundTable::at_highest_clock(const PlanParts& parts, const Plan& of_layers,
                                     const Plan& plan, BoundScope scope, Seconds cutoff,
                                     CompiledLayers& compiled, const StepOf& step_of) {
  return at_highest_clock(
      plan, shape_of(parts, of_layers), cutoff,
      [&](int clock) -> const Layers& {
        return layers_of(parts, of_layers, scope, clock, compiled);
      },
      step_of);
}

template <class LayersAt, class StepOf>
Seconds BoundTable::at_highest_clock(const Plan& plan, const Shape& shape, Seconds cutoff,
                                     const LayersAt& layers_at, const StepOf& step_of) {
  const Layers& layers = layers_at(0);
  const Seconds roughly = step_of(layers, kRoughly);
  if (roughly > cutoff) return roughly;
  const int clock = highest_clock(plan, shape, layers, cutoff);
  const PassOrder::Near near{cutoff, roughly};
  if (clock >= kClockSteps) return std::isinf(cutoff.base()) ? roughly : step_of(layers, near);
  const double limit = cutoff.base();
  const Seconds excluded(std::nextafter(limit, 2 * limit));
  return std::max(roughly, std::min(excluded, step_of(layers_at(clock), near)));
}

Seconds BoundTable::own_step(const Plan& of_layers, const PlanParts& parts, const Plan& plan,
                             BoundScope scope, Seconds cutoff, bool passes,
                             CompiledLayers& compiled) {
  const Shape& shape = shape_of(parts, of_layers);
  return at_highest_clock(parts, of_layers, plan, scope, cutoff, compiled,
                          [&](const Layers& layers, const PassOrder::Near& near) {
                            return step(plan, parts,
                                        {.shape = shape,
                                         .layers = layers,
                                         .passes = passes,
                                         .one_group = true,
                                         .near = near});
                          });
}

PlanBounds BoundTable::mesh(const Plan& plan, const StateChoices& state, Seconds cutoff) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts, plan);
  Plan lean = plan;
  put_state(state.place, state.share, lean);
  put_shards(lean.sharding, 0, lean);
  CompiledLayers compiled;
  const Seconds time = at_highest_clock(
      parts, plan, plan, BoundScope::mesh, cutoff, compiled,
      [&](const Layers& layers, const PassOrder::Near& near) {
        const Pipeline stages = pipeline(plan, {.shape = shape, .layers = layers, .near = near});
        return outside_pipeline(plan, *std::ranges::max_element(stages.finish), stages);
      });
  const Layers& layers = layers_of(parts, plan, BoundScope::mesh);
  return {time, peak(lean, state.shardings.back(), shape, layers, 0) + least_outside(plan)};
}

Seconds BoundTable::grid(const Plan& plan) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts, plan);
  const Layers& layers = layers_of(parts, plan, BoundScope::mesh);
  Seconds work;
  for (const Counts& stage : shape.of_stage) {
    for (const auto& [i, count] : stage) {
      const LayerBound& l = layers[i];
      const bool halves = splits_backward(plan.schedule) && l.half[0] + l.half[1] > Seconds(0);
      const Seconds backward = halves ? std::min(l.time[1], l.half[0] + l.half[1]) : l.time[1];
      work += (l.time[0] + backward) * count;
    }
  }
  const auto microbatches = static_cast<double>(plan.microbatches(problem_.workload.global_batch));
  const double copies = group_size(plan, Group::copies);  // of a stage's layers, in DualPipe
  const Seconds even = work * microbatches / (plan.attention.pp * copies);
  Pipeline stages{.finish = std::vector<Seconds>(shape.of_stage.size(), even), .passes = {}};
  return outside_pipeline(plan, even, stages);
}

Seconds BoundTable::whole_mesh(const Plan& plan, const StateChoices& state, Seconds cutoff) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts, plan);
  CompiledLayers compiled;
  return at_highest_clock(
      parts, plan, plan, BoundScope::mesh, cutoff, compiled,
      [&](const Layers& layers, const PassOrder::Near& near) {
        return least_step(plan, state, parts,
                          {.shape = shape, .layers = layers, .near = near});
      });
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
              share) +
         least_outside(plan);
}

std::int64_t BoundTable::least_state(const Plan& of_mesh, Plan plan, const StateChoices& state) {
  put_state(state.place, state.share, plan);
  const PlanParts parts = estimator_.parts(of_mesh);
  const Shape& shape = shape_of(parts, of_mesh);
  const Layers& layers = layers_of(parts, of_mesh, BoundScope::mesh);
  const std::vector<double> gathered = gathered_of_stages(plan, shape, layers);
  std::vector<double> stages = peaks(plan, plan.sharding, shape, layers, 0);
  for (std::size_t s = 0; s < stages.size(); ++s) stages[s] += gathered[s];
  return static_cast<std::int64_t>(std::ranges::max(stages)) + outside(plan);
}

// The least of each time of a layer, one by one. What it looks at is not remembered: most of it is
// asked for once, and would push out what is asked for often.
BoundTable::Layers BoundTable::least_of(const std::vector<Plan>& references, int clock,
                                        CompiledLayers& compiled) {
  Layers least;
  for (const Plan& reference : references) {
    const Plan ordered = in_order(reference);
    Layers own =
        made_layers(estimator_.parts(ordered), ordered, BoundScope::family, clock, compiled);
    if (least.empty()) {
      least = std::move(own);
      continue;
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (const auto times : {&LayerBound::time, &LayerBound::exchanges, &LayerBound::copies,
                               &LayerBound::alone, &LayerBound::half}) {
        for (std::size_t p = 0; p < 2; ++p) {
          Seconds& time = (least[i].*times)[p];
          time = std::min(time, (own[i].*times)[p]);
        }
      }
      least[i].matrix = std::min(least[i].matrix, own[i].matrix);
      least[i].send = std::min(least[i].send, own[i].send);
    }
  }
  return least;
}

Seconds BoundTable::exchanges(const Plan& plan, const Exchanges& all, const StateChoices& state,
                              Seconds cutoff) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts, plan);
  CompiledLayers compiled;
  return at_highest_clock(
      plan, shape, cutoff,
      [&](int clock) -> const Layers& {
        const NumberKey<4> key{{parts.layers, clock, static_cast<std::int32_t>(all.which),
                                static_cast<std::int32_t>(all.which >> 32)}};
        return exchanges_.get(key, [&] {
          return least_of(all.references(), clock, compiled);
        });
      },
      [&](const Layers& layers, const PassOrder::Near& near) {
        return longest(
            {.shape = shape, .layers = layers, .host = &all.graph, .near = near}, cutoff,
            [&](const Sources& from) { return least_step(plan, state, parts, from); });
      });
}

Seconds BoundTable::exchange(const Plan& reference, const StateChoices& state, Seconds cutoff) {
  const Plan ordered = in_order(reference);
  const PlanParts parts = estimator_.parts(ordered);
  const Shape& shape = shape_of(parts, ordered);
  CompiledLayers compiled;
  return at_highest_clock(
      parts, ordered, ordered, BoundScope::family, cutoff, compiled,
      [&](const Layers& layers, const PassOrder::Near& near) {
        return longest(
            {.shape = shape, .layers = layers, .host = &ordered.cuda_graph, .near = near}, cutoff,
            [&](const Sources& from) { return least_step(ordered, state, parts, from); });
      });
}

template <class StepOf>
Seconds BoundTable::longest(Sources from, Seconds cutoff, const StepOf& step_of) {
  Seconds time = step_of(from);
  from.near = kRoughly;
  for (const auto beside : {&LayerBound::exchanges, &LayerBound::copies}) {
    if (time > cutoff || hides(from.layers, beside)) continue;
    from.beside = beside;
    time = std::max(time, step_of(from));
  }
  return time;
}

PlanBounds BoundTable::family(const Plan& plan, Seconds cutoff) {
  const Plan ordered = in_order(plan);
  const PlanParts parts = estimator_.parts(ordered);
  PlanBounds bounds{family_step(ordered, parts, plan, cutoff)};
  if (bounds.step <= cutoff) bounds.peak_bytes = peak_of_family(ordered, parts, plan);
  return bounds;
}

std::int64_t BoundTable::peak_of_family(const Plan& plan) {
  const Plan ordered = in_order(plan);
  return peak_of_family(ordered, estimator_.parts(ordered), plan);
}

std::int64_t BoundTable::peak_of_family(const Plan& ordered, const PlanParts& parts,
                                        const Plan& plan) {
  return own_peak(plan, shape_of(parts, plan), layers_of(parts, ordered, BoundScope::family));
}

Seconds BoundTable::family_by_reference(const Plan& reference, const Plan& plan, Seconds cutoff) {
  const Plan ordered = in_order(reference);
  return family_step(ordered, estimator_.parts(ordered), plan, cutoff);
}

Seconds BoundTable::family_step(const Plan& ordered, const PlanParts& parts, const Plan& plan,
                                Seconds cutoff) {
  const Shape& shape = shape_of(parts, ordered);
  CompiledLayers compiled;
  return at_highest_clock(
      parts, ordered, plan, BoundScope::family, cutoff, compiled,
      [&](const Layers& layers, const PassOrder::Near& near) {
        return longest(
            {.shape = shape, .layers = layers, .host = &ordered.cuda_graph, .near = near}, cutoff,
            [&](const Sources& from) { return step(plan, parts, from); });
      });
}

}  // namespace pleat
