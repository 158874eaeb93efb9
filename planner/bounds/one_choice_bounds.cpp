// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/one_choice_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/program/compile_stage.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kUnknownPeak = 1;  // bytes at least, of what takes too long

std::size_t way_of(const ChoiceWays::Choice& choice) {
  return choice.recompute * kStatePlaces + static_cast<std::size_t>(choice.state);
}

}  // namespace

const std::vector<LayerSavings>& BoundTable::savings_of_layers(const PlanParts& parts,
                                                               const CountedLayers& counted) {
  return savings_.get(parts.layers, [&] {
    std::vector<LayerSavings> list;
    for (std::size_t i = 0; i < counted.variants().size(); ++i) {
      list.push_back(
          parts.library->savings(counted.variants()[counted.stand_in(i)], problem_.profile));
    }
    parts.library->forget(false);
    return list;
  });
}

ChoiceTimes BoundTable::times_of_choices(const Plan& plan, const Sources& from,
                                         const PlanParts& parts, const ChoiceWays& ways,
                                         const std::vector<LayerSavings>& savings) {
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
  const bool straight = plan.schedule == PipelineSchedule::one_f_one_b;
  const std::size_t stages = shape.kind_of.size();
  const Slowdown slowdown = slowdown_of(plan, stages);
  ChoiceTimes of{.chunks = ChunkTables(shape.kinds, *shape.counted, from.layers, savings, ways),
                 .stages = std::vector<ChoiceTimes::Stage>(stages),
                 .finish = pipeline(plan, from).finish,
                 .straight = straight,
                 .passes = passes_of_chunk(plan),
                 .excess = slowdown.excess,
                 .share = slowdown.share,
                 .overhead = problem_.profile.step_overhead,
                 .most = Seconds(std::numeric_limits<double>::infinity())};
  Seconds in, out;  // ways of the first and the last microbatch through the stages before
  for (std::size_t s = 0; s < stages; ++s) {
    ChoiceTimes::Stage& sum = of.stages[s];
    sum.chunks.resize(kinds);
    for (const std::size_t k : shape.kind_of[s]) {
      ++sum.chunks[k];
      sum.work += forward[k] + backward[k];
    }
    sum.before = out;
    sum.outside = in + out;
    if (!straight) continue;
    in += forward[shape.kind_of[s].front()];
    out += backward[shape.kind_of[s].front()];
  }
  for (const ChoiceWays::Choice& choice : ways.choices) {
    std::optional<TailCosts>& end = of.ends[static_cast<std::size_t>(choice.state)];
    if (end) continue;
    Plan placed = plan;
    put_state(choice.state, choice.share, placed);
    end = tail_costs(tail_of(placed, parts, shape, from.layers), placed, runtime_,
                     problem_.profile, plan.microbatches(problem_.workload.global_batch), stages,
                     {});
  }
  return of;
}

ChoiceTimes BoundTable::times_of_choices(const Plan& plan, const ChoiceWays& ways,
                                         Seconds cutoff) {
  PLEAT_ASSERT(!splits_backward(plan.schedule));
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts, plan);
  const BoundScope scope = scope_of(parts, plan);
  CompiledLayers compiled;
  const Layers& burst = layers_of(parts, plan, scope, 0, compiled);
  const int clock = highest_clock(plan, shape, burst, cutoff);
  const bool slows = clock < kClockSteps;
  const Layers& layers = slows ? layers_of(parts, plan, scope, clock, compiled) : burst;
  const PlanParts ordered = estimator_.parts(in_order(plan));
  ChoiceTimes times = times_of_choices(
      plan, {.shape = shape, .layers = layers, .one_group = true, .near = {cutoff, {}}}, parts,
      ways, savings_of_layers(ordered, *shape.counted));
  if (slows) times.most = Seconds(std::nextafter(cutoff.base(), 2 * cutoff.base()));
  return times;
}

// How many chunks of each kind a stage holds, at the moments when it holds the most.
std::vector<std::vector<std::vector<double>>> BoundTable::held_kinds(const Schedule& order,
                                                                     const Shape& shape) {
  const HeldChunks& held_by_stage = held_of(order);
  std::vector<std::vector<std::vector<double>>> stages(shape.kind_of.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (const std::vector<std::int64_t>& moment : held_by_stage[s]) {
      std::vector<double>& held = stages[s].emplace_back(shape.kinds.size());
      for (std::size_t c = 0; c < moment.size(); ++c) {
        held[shape.kind_of[s][c]] += static_cast<double>(moment[c]);
      }
    }
  }
  return stages;
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

OneChoiceBounds::OneChoiceBounds(BoundTable& table, const Plan& plan, const Schedule& order,
                                 const ChoiceWays& ways, Seconds cutoff)
    : table_(table),
      plan_(plan),
      ordered_(in_order(plan)),
      parts_(table.estimator_.parts(ordered_)),
      shape_(table.shape_of(parts_, ordered_)),
      layers_(&table.layers_of(parts_, ordered_, BoundScope::family, 0, compiled_)),
      times_([&] {
        const int clock = table.highest_clock(plan, shape_, *layers_, cutoff);
        const bool slows = clock < kClockSteps;
        if (slows) {
          layers_ = &table.layers_of(parts_, ordered_, BoundScope::family, clock, compiled_);
        }
        ChoiceTimes times = table.times_of_choices(
            plan,
            {.shape = shape_, .layers = *layers_, .host = &ordered_.cuda_graph,
             .near = {.cutoff = cutoff, .step = {}}},
            parts_, ways, table.savings_of_layers(parts_, *shape_.counted));
        if (slows) times.most = Seconds(std::nextafter(cutoff.base(), 2 * cutoff.base()));
        return times;
      }()),
      bytes_(times_.chunks, ways),
      held_(table.held_kinds(order, shape_)),
      rest_(table.rest_of_stages(plan, table.held_of(order), shape_, *layers_)),
      beside_(table.outside(plan)),
      without_sending_(ways.recompute.size() * kStatePlaces, Seconds(-1)) {}

const OneChoiceBounds::Place& OneChoiceBounds::place_of(const ChoiceWays::Choice& choice) {
  std::optional<Place>& place = places_[static_cast<std::size_t>(choice.state)];
  if (place) return *place;
  place.emplace(plan_);
  put_state(choice.state, choice.share, place->plan);
  if (refused_cpu_step(table_.runtime_, place->plan) != nullptr) {
    place->never = kStepRefused;
    return *place;
  }
  place->state = table_.state_of_stages(place->plan, plan_.sharding, shape_, *layers_);
  const StepTail& tail = table_.tail_of(place->plan, parts_, shape_, *layers_);
  if (!table_.host_holds(place->plan, tail)) place->never = kHostIsFull;
  return *place;
}

std::int64_t OneChoiceBounds::never(const ChoiceWays::Choice& choice) {
  return place_of(choice).never;
}

void OneChoiceBounds::set(const ChoiceWays::Choice& choice) {
  choice_ = &choice;
  bytes_.set(choice);
}

double OneChoiceBounds::bytes_of(std::size_t stage, const Place& place,
                                 const std::vector<double>& kept_by_kind) const {
  double kept = 0;
  for (const std::vector<double>& moment : held_[stage]) {
    kept = std::max(kept, std::inner_product(moment.begin(), moment.end(), kept_by_kind.begin(),
                                             0.0));
  }
  const BoundTable::StageRest& rest = rest_[stage];
  return place.state[stage].kept + rest.kept + rest.graphs +
         std::max(kept + rest.beside, place.state[stage].reloaded);
}

std::int64_t OneChoiceBounds::bytes_of_stage(std::size_t stage) {
  const Place& place = place_of(*choice_);
  if (place.never > 0) return place.never;
  return static_cast<std::int64_t>(bytes_of(stage, place, bytes_.kept())) + beside_;
}

std::int64_t OneChoiceBounds::bytes(std::int64_t usable) {
  const Place& place = place_of(*choice_);
  const auto room = static_cast<double>(usable - beside_);
  const std::vector<double>& kept = bytes_.kept();
  double most = 0;
  for (std::size_t s = 0; s < held_.size() && most <= room; ++s) {
    most = std::max(most, bytes_of(s, place, kept));
  }
  return static_cast<std::int64_t>(most) + beside_;
}

Seconds OneChoiceBounds::step() { return times_.step(*choice_, &bytes_.copies()); }

Seconds OneChoiceBounds::step_of_stage(std::size_t stage) {
  return times_.step_of_stage(stage, *choice_, bytes_.copies());
}

Seconds OneChoiceBounds::step_without_sending(const ChoiceWays::Choice& choice) {
  Seconds& step = without_sending_[way_of(choice)];
  if (step < Seconds{}) step = times_.step(choice, nullptr);
  return step;
}

BoundsByChoice BoundTable::by_choice(const Plan& plan, const Schedule& order,
                                     const ChoiceWays& ways, std::int64_t usable,
                                     Seconds cutoff) {
  OneChoiceBounds of(*this, plan, order, ways, cutoff);
  BoundsByChoice bounds(ways.choices.size());
  constexpr BoundsByChoice::Index kNone = BoundsByChoice::kNone;
  // By place, by way to recompute and place, and by ChoiceWays::Choice::most.
  std::array<BoundsByChoice::Index, kStatePlaces> never;
  never.fill(kNone);
  std::vector<BoundsByChoice::Index> too_slow(ways.recompute.size() * kStatePlaces, kNone);
  std::vector<BoundsByChoice::Index> none_fits(ways.choices.size(), kNone);
  const auto once = [&](BoundsByChoice::Index& index, PlanBounds value) {
    if (index == kNone) index = bounds.add(value);
    return index;
  };
  const auto look_at = [&](std::size_t c) {
    if (bounds.has(c)) return;
    const ChoiceWays::Choice& choice = ways.choices[c];
    of.set(choice);
    PlanBounds of_choice;
    if (!choice.by_stage) of_choice.peak_bytes = of.bytes(usable);
    if (of_choice.peak_bytes <= usable) {
      of_choice.step = of.step();
    } else if (ways.offload[choice.offload].modules == 0) {
      of_choice.step = of.step_without_sending(choice);  // also of those below it, which send
    }
    bounds.set(c, bounds.add(of_choice));
  };
  for (std::size_t c = 0; c < ways.choices.size(); ++c) {
    const ChoiceWays::Choice& choice = ways.choices[c];
    if (const std::int64_t peak = of.never(choice); peak > 0) {
      bounds.set(c, once(never[static_cast<std::size_t>(choice.state)], {{}, peak}));
      continue;
    }
    if (choice.less >= 0 && !bounds.has(c)) {
      const auto less = static_cast<std::size_t>(choice.less);
      PLEAT_ASSERT(bounds.has(less));  // choices that give up less come first
      if (bounds[less].peak_bytes > 0 && bounds[less].peak_bytes <= usable) {
        bounds.set(c, bounds.index(less));
        continue;
      }
    }
    if (choice.most >= 0) {
      const Seconds least = of.step_without_sending(choice);
      if (least > cutoff) {
        bounds.set(c, once(too_slow[way_of(choice)], {least, kUnknownPeak}));
        continue;
      }
      const auto most = static_cast<std::size_t>(choice.most);
      look_at(most);
      if (const std::int64_t peak = bounds[most].peak_bytes; peak > usable) {
        if (c != most) bounds.set(c, once(none_fits[most], {{}, peak}));
        continue;
      }
    }
    look_at(c);
  }
  return bounds;
}

}  // namespace pleat
