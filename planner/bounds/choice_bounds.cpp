// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of all memory choices of a plan at once, from its layers without any saving
// (choice_bytes.hpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/program/compile_stage.hpp"
#include "planner/bounds/bounds.hpp"
#include "planner/bounds/choice_bytes.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kUnknownPeak = 1;  // bytes at least, of what takes too long

}  // namespace

const std::vector<LayerSavings>& BoundTable::savings_of_layers(const PlanParts& parts,
                                                               const CountedLayers& counted) {
  return savings_.get(parts.layers, [&] {
    auto list = std::make_unique<std::vector<LayerSavings>>();
    for (std::size_t i = 0; i < counted.variants().size(); ++i) {
      list->push_back(
          parts.library->savings(counted.variants()[counted.stand_in(i)], problem_.profile));
    }
    parts.library->forget(false);
    return list;
  });
}

// A stage of the plan that recomputes nothing. The times are earliest times.
struct BoundTable::StageSums {
  std::vector<double> chunks;             // how many it has, by kind
  std::vector<std::vector<double>> held;  // [moment][kind]: for how many microbatches
  Seconds work;  // of a microbatch
  // Before and after all its work, until the first stage can be done; the second of it after this
  // stage is done.
  Seconds outside, before;
};

std::vector<BoundTable::StageSums> BoundTable::sum_stages(const Plan& plan, const Schedule& order,
                                                          const Sources& from) {
  const Shape& shape = from.shape;
  const std::size_t kinds = shape.kinds.size();
  const std::vector<ChunkBound> times = layer_times(from);
  std::vector<Seconds> forward(kinds), backward(kinds);
  for (std::size_t k = 0; k < kinds; ++k) {
    Seconds halves;
    for (const auto& [i, count] : shape.kinds[k]) {
      forward[k] += times[i].pass[0] * count;
      backward[k] += times[i].pass[1] * count;
      halves += (times[i].half[0] + times[i].half[1]) * count;
    }
    if (splits_backward(plan.schedule)) backward[k] = std::min(backward[k], halves);
  }
  const HeldChunks& held_by_stage = held_of(order);
  std::vector<StageSums> sums(shape.kind_of.size());
  Seconds in, out;  // ways of the first and the last microbatch through the stages before
  for (std::size_t s = 0; s < sums.size(); ++s) {
    StageSums& sum = sums[s];
    sum.chunks.resize(kinds);
    for (const std::size_t k : shape.kind_of[s]) {
      ++sum.chunks[k];
      sum.work += forward[k] + backward[k];
    }
    for (const std::vector<std::int64_t>& moment : held_by_stage[s]) {
      std::vector<double>& held = sum.held.emplace_back(kinds);
      for (std::size_t c = 0; c < moment.size(); ++c) {
        held[shape.kind_of[s][c]] += static_cast<double>(moment[c]);
      }
    }
    sum.before = out;
    sum.outside = in + out;
    if (plan.schedule != PipelineSchedule::one_f_one_b) continue;
    in += forward[shape.kind_of[s].front()];
    out += backward[shape.kind_of[s].front()];
  }
  return sums;
}

bool BoundTable::host_holds(const Plan& plan, const StepTail& tail) const {
  const double host = problem_.cluster.host_memory.base();
  if (host <= 0) return true;  // unknown
  std::vector<StageMemory> stages(tail.stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) stages[s].host = tail.stages[s].host_bytes;
  const std::int64_t bytes = fullest_node(stages, plan.world(), problem_.cluster.gpus_per_node);
  return static_cast<double>(bytes) <= host;
}

// DualPipe's two chunks share the microbatches.
double BoundTable::passes_of_chunk(const Plan& plan) const {
  const auto microbatches = static_cast<double>(plan.microbatches(problem_.workload.global_batch));
  return plan.schedule == PipelineSchedule::dualpipe ? microbatches / 2 : microbatches;
}

std::vector<PlanBounds> BoundTable::by_choice(const Plan& plan, const Schedule& order,
                                              const ChoiceWays& ways, std::int64_t usable,
                                              Seconds cutoff) {
  const Plan ordered = in_order(plan);
  const PlanParts parts = estimator_.parts(ordered);
  const Shape& shape = shape_of(parts, ordered);
  CompiledLayers compiled;
  const Layers& burst = layers_of(parts, ordered, BoundScope::family, 0, compiled);
  const int clock = highest_clock(plan, shape, burst, cutoff);
  const bool slows = clock < kClockSteps;
  const Layers& layers =
      slows ? layers_of(parts, ordered, BoundScope::family, clock, compiled) : burst;
  const Seconds excluded(slows ? std::nextafter(cutoff.base(), 2 * cutoff.base())
                               : std::numeric_limits<double>::infinity());
  const Sources from{.shape = shape, .layers = layers, .host = &ordered.cuda_graph,
                     .near = cutoff};
  const ChunkTables chunks(shape.kinds, layers, savings_of_layers(parts, *shape.counted), ways);
  const std::vector<StageSums> stages = sum_stages(plan, order, from);
  const Pipeline base = pipeline(plan, from);
  const bool straight = plan.schedule == PipelineSchedule::one_f_one_b;
  const double passes = passes_of_chunk(plan);
  const std::int64_t microbatches = plan.microbatches(problem_.workload.global_batch);
  const std::int64_t beside = outside(plan);
  const auto room = static_cast<double>(usable - beside);
  // Of the plan that gives up nothing. What one gives up comes back before its backward pass, and
  // adds to it.
  const std::vector<StageRest> rest = rest_of_stages(plan, held_of(order), shape, layers);

  struct Place {
    Plan plan;
    std::vector<StateBytes> state;  // by stage
    TailCosts end;
    bool host_holds = true;
  };
  std::array<std::optional<Place>, kStatePlaces> places;  // by StatePlace
  const auto place_of = [&](StatePlace state) -> const Place& {
    std::optional<Place>& place = places[static_cast<std::size_t>(state)];
    if (place) return *place;
    place.emplace(plan);
    put_state(state, place->plan);
    place->state = state_of_stages(place->plan, plan.sharding, shape, layers);
    const StepTail& tail = tail_of(place->plan, parts, shape, layers);
    place->end = tail_costs(tail, place->plan, runtime_, problem_.profile, microbatches,
                            stages.size(), {});
    place->host_holds = host_holds(place->plan, tail);
    return *place;
  };
  ChoiceBytes bytes(chunks, ways, layers.size());
  // Of the choice in `bytes`, until one stage has not the room.
  const auto most_of = [&](const Place& place) {
    double most = 0;
    for (std::size_t s = 0; s < stages.size() && most <= room; ++s) {
      double held = 0;
      for (const std::vector<double>& moment : stages[s].held) {
        held = std::max(held, std::inner_product(moment.begin(), moment.end(), bytes.kept.begin(),
                                                 0.0));
      }
      most = std::max(most, place.state[s].kept + rest[s].kept + rest[s].graphs +
                                std::max(held + rest[s].beside, place.state[s].reloaded));
    }
    return most;
  };
  std::vector<Seconds> finish = base.finish;
  const Slowdown slowdown = slowdown_of(plan, finish.size());
  const auto step_of = [&](const ChoiceWays::Choice& choice, const Place& place, bool sends) {
    Seconds latest;
    for (std::size_t s = stages.size(); s-- > 0;) {
      Seconds again, copies;
      for (std::size_t k = 0; k < chunks.kinds(); ++k) {
        again += chunks.longer(choice.recompute, k) * stages[s].chunks[k];
        if (sends) copies += bytes.copies[k] * stages[s].chunks[k];
      }
      const Seconds busy = std::max(stages[s].work + again, copies);
      const Seconds done = stages[s].outside + busy * passes;
      latest = straight ? std::max(latest, done) : done;
      finish[s] = std::max(base.finish[s], latest - stages[s].before);
    }
    return outside_pipeline(slowdown, step_end(place.end, finish), finish);
  };
  // Of what the choice recomputes, without what it sends. Negative: not asked for yet.
  std::vector<Seconds> recomputing(ways.recompute.size() * kStatePlaces, Seconds(-1));
  const auto without_sending = [&](const ChoiceWays::Choice& choice) {
    Seconds& step = recomputing[choice.recompute * kStatePlaces +
                                static_cast<std::size_t>(choice.state)];
    if (step < Seconds{}) step = std::min(excluded, step_of(choice, place_of(choice.state), false));
    return step;
  };
  std::vector<PlanBounds> bounds(ways.choices.size());
  std::vector<bool> looked(ways.choices.size());
  const auto look_at = [&](std::size_t c) {
    if (looked[c]) return;
    looked[c] = true;
    const ChoiceWays::Choice& choice = ways.choices[c];
    const Place& place = place_of(choice.state);
    bytes.set(choice);
    if (!choice.by_stage) {
      bounds[c].peak_bytes = static_cast<std::int64_t>(most_of(place)) + beside;
      if (bounds[c].peak_bytes > usable) {
        // Of the choices below it, which send something, too.
        if (ways.offload[choice.offload].modules == 0) bounds[c].step = without_sending(choice);
        return;
      }
    }
    bounds[c].step = std::min(excluded, step_of(choice, place, true));
  };
  for (std::size_t c = 0; c < ways.choices.size(); ++c) {
    const ChoiceWays::Choice& choice = ways.choices[c];
    if (!place_of(choice.state).host_holds) {
      bounds[c].peak_bytes = kHostIsFull;
      continue;
    }
    if (choice.less >= 0) {
      const PlanBounds& less = bounds[static_cast<std::size_t>(choice.less)];
      if (less.peak_bytes > 0 && less.peak_bytes <= usable && !looked[c]) {
        bounds[c] = less;
        continue;
      }
    }
    if (choice.most >= 0 && without_sending(choice) > cutoff) {
      bounds[c] = {without_sending(choice), kUnknownPeak};
      continue;
    }
    if (choice.most >= 0) {
      const auto most = static_cast<std::size_t>(choice.most);
      look_at(most);
      if (bounds[most].peak_bytes > usable) {
        bounds[c].peak_bytes = bounds[most].peak_bytes;
        continue;
      }
    }
    look_at(c);
  }
  return bounds;
}

}  // namespace pleat
