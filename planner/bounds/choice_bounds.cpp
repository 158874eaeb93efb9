// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of all memory choices of a plan at once, computed from its layers without any saving. From
// their memory all is taken off that a choice drops, but what it must keep in its place is not
// added; to their backward passes the operations are added that the choice runs again.
#include "planner/bounds/choice_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "core/program/compile_stage.hpp"
#include "planner/bounds/bounds.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

template <class T>
std::size_t index_in(std::vector<T>& list, const T& value) {
  const auto known = std::ranges::find(list, value);
  if (known != list.end()) return static_cast<std::size_t>(known - list.begin());
  list.push_back(value);
  return list.size() - 1;
}

// What a chunk's layers can save at most, and how much longer its backward pass takes at least.
struct ChunkSavings {
  double bytes = 0;
  Seconds longer;
};

// A layer of a chunk, and how often the chunk has it.
struct CountedSavings {
  const LayerSavings& savings;
  const LayerBound& bound;
  Seconds waits;  // of the backward pass, which recompute may fill
  int count;
};

Seconds beyond(Seconds time, Seconds waits) { return std::max(Seconds(0), time - waits); }

ChunkSavings of_modules(const std::vector<CountedSavings>& layers, std::uint32_t parts) {
  ChunkSavings sum;
  for (const CountedSavings& l : layers) {
    Seconds again;
    std::int64_t bytes = 0;
    for (std::size_t part = 0; part < kSavingParts; ++part) {
      if ((parts >> part & 1U) == 0) continue;
      again += l.savings.again[part];
      bytes += l.savings.saves[part];
    }
    sum.bytes += static_cast<double>(bytes) * l.count;
    sum.longer += beyond(again, l.waits) * l.count;
  }
  return sum;
}

// `way.layers` layers, or all; of units of layers all inputs but the first are dropped, too.
ChunkSavings of_whole_layers(const std::vector<CountedSavings>& layers, const RecomputeWay& way) {
  ChunkSavings sum;
  int decoders = 0;
  double most = 0;
  Seconds least;
  for (const CountedSavings& l : layers) {
    if (l.savings.whole == 0) continue;
    const Seconds again = beyond(l.savings.all_again, l.waits);
    double bytes = static_cast<double>(l.savings.all_saves);
    if (way.unit > 1) bytes = std::max(bytes, static_cast<double>(l.bound.saved));
    least = decoders == 0 ? again : std::min(least, again);
    most = std::max(most, bytes);
    decoders += l.count;
    sum.bytes += bytes * l.count;
    sum.longer += again * l.count;
  }
  if (way.layers > 0 && way.layers < decoders) return {most * way.layers, least * way.layers};
  return sum;
}

double offloaded(const std::vector<CountedSavings>& layers, const OffloadWay& way) {
  double sum = 0, most = 0;
  for (const CountedSavings& l : layers) {
    for (std::size_t o = 0; o < kOffloads.size(); ++o) {
      if ((way.modules >> o & 1U) != 0) {
        sum += static_cast<double>(l.savings.offloads[o]) * l.count;
      }
    }
    most = std::max(most, static_cast<double>(l.savings.whole));
  }
  return sum + most * way.layers;
}

}  // namespace

ChoiceWays::ChoiceWays(const std::vector<MemoryChoice>& all) {
  for (const MemoryChoice& c : all) {
    std::uint32_t modules = 0;
    for (const Offload o : c.offload) modules |= 1U << static_cast<unsigned>(o);
    choices.push_back({index_in(recompute, {.parts = parts_of(c.recompute.modules),
                                            .full = c.recompute.full,
                                            .layers = c.recompute.layers,
                                            .unit = c.recompute.unit}),
                       index_in(offload, {.modules = modules, .layers = c.offload_layers}), c.state,
                       c.by_stage});
  }
}

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

// What the kinds of chunks save and cost, by way.
struct BoundTable::ChunkTables {
  std::size_t kinds;
  std::vector<double> saved;             // bytes without recompute and offload, by kind
  std::vector<ChunkSavings> recomputed;  // [way to recompute][kind]
  std::vector<double> offloaded;         // bytes, [way to offload][kind]

  [[nodiscard]] const ChunkSavings& recompute(const ChoiceWays::Choice& c, std::size_t kind) const {
    return recomputed[c.recompute * kinds + kind];
  }
  // What the choice keeps at least.
  [[nodiscard]] double kept(const ChoiceWays::Choice& c, std::size_t kind) const {
    return std::max(0.0,
                    saved[kind] - recompute(c, kind).bytes - offloaded[c.offload * kinds + kind]);
  }
};

BoundTable::ChunkTables BoundTable::chunk_tables(const Shape& shape, const Layers& layers,
                                                 const std::vector<LayerSavings>& savings,
                                                 const ChoiceWays& ways) {
  ChunkTables tables{.kinds = shape.kinds.size(), .saved = {}, .recomputed = {}, .offloaded = {}};
  std::vector<std::vector<CountedSavings>> chunks;
  for (const Counts& counts : shape.kinds) {
    std::vector<CountedSavings>& chunk = chunks.emplace_back();
    double& saved = tables.saved.emplace_back();
    for (const auto& [i, count] : counts) {
      chunk.push_back({savings[i], layers[i], layers[i].waits, count});
      saved += static_cast<double>(layers[i].saved) * count;
    }
  }
  for (const RecomputeWay& way : ways.recompute) {
    for (const auto& chunk : chunks) {
      tables.recomputed.push_back(way.full ? of_whole_layers(chunk, way)
                                           : of_modules(chunk, way.parts));
    }
  }
  for (const OffloadWay& way : ways.offload) {
    for (const auto& chunk : chunks) tables.offloaded.push_back(offloaded(chunk, way));
  }
  return tables;
}

// A stage of the plan that recomputes nothing. The times are earliest times.
struct BoundTable::StageSums {
  std::vector<double> chunks;             // how many it has, by kind
  std::vector<std::vector<double>> held;  // [moment][kind]: for how many microbatches
  // When the first stage can be done, going by the work of this one; how long before that this one
  // is done.
  Seconds done, before;
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
  const double passes = passes_of_chunk(plan);
  std::vector<StageSums> sums(shape.kind_of.size());
  Seconds in, out;  // ways of the first and the last microbatch through the stages before
  for (std::size_t s = 0; s < sums.size(); ++s) {
    StageSums& sum = sums[s];
    sum.chunks.resize(kinds);
    Seconds work;
    for (const std::size_t k : shape.kind_of[s]) {
      ++sum.chunks[k];
      work += forward[k] + backward[k];
    }
    for (const std::vector<std::int64_t>& moment : held_by_stage[s]) {
      std::vector<double>& held = sum.held.emplace_back(kinds);
      for (std::size_t c = 0; c < moment.size(); ++c) {
        held[shape.kind_of[s][c]] += static_cast<double>(moment[c]);
      }
    }
    sum.before = out;
    sum.done = in + work * passes + out;
    if (plan.schedule != PipelineSchedule::one_f_one_b) continue;
    in += forward[shape.kind_of[s].front()];
    out += backward[shape.kind_of[s].front()];
  }
  return sums;
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
  const ChunkTables chunks =
      chunk_tables(shape, layers, savings_of_layers(parts, *shape.counted), ways);
  const std::vector<StageSums> stages = sum_stages(plan, order, from);
  const Pipeline base = pipeline(plan, from);
  const bool straight = plan.schedule == PipelineSchedule::one_f_one_b;
  const double passes = passes_of_chunk(plan);
  const std::int64_t microbatches = plan.microbatches(problem_.workload.global_batch);
  const std::int64_t beside = outside(plan);
  const auto room = static_cast<double>(usable - beside);

  struct Place {
    Plan plan;
    std::vector<StateBytes> state;  // by stage
    TailCosts end;
  };
  std::array<std::optional<Place>, 3> places;  // by StatePlace
  std::vector<PlanBounds> bounds;
  bounds.reserve(ways.choices.size());
  std::vector<double> kept(chunks.kinds);
  std::vector<Seconds> finish = base.finish;
  const Slowdown slowdown = slowdown_of(plan, finish.size());
  for (const ChoiceWays::Choice& choice : ways.choices) {
    std::optional<Place>& place = places[static_cast<std::size_t>(choice.state)];
    if (!place) {
      place.emplace(plan);
      put_state(choice.state, place->plan);
      place->state = state_of_stages(place->plan, plan.sharding, shape, layers);
      place->end = tail_costs(tail_of(place->plan, parts, shape, layers), place->plan, runtime_,
                              problem_.profile, microbatches, stages.size(), {});
    }
    PlanBounds& bound = bounds.emplace_back();
    if (!choice.by_stage) {
      for (std::size_t k = 0; k < chunks.kinds; ++k) kept[k] = chunks.kept(choice, k);
      double most = 0;
      for (std::size_t s = 0; s < stages.size() && most <= room; ++s) {
        double held = 0;
        for (const std::vector<double>& moment : stages[s].held) {
          held =
              std::max(held, std::inner_product(moment.begin(), moment.end(), kept.begin(), 0.0));
        }
        most = std::max(most, place->state[s].kept + std::max(held, place->state[s].reloaded));
      }
      bound.peak_bytes = static_cast<std::int64_t>(most) + beside;
      if (bound.peak_bytes > usable) continue;
    }
    Seconds latest;
    for (std::size_t s = stages.size(); s-- > 0;) {
      Seconds again;
      for (std::size_t k = 0; k < chunks.kinds; ++k) {
        again += chunks.recompute(choice, k).longer * stages[s].chunks[k];
      }
      const Seconds done = stages[s].done + again * passes;
      latest = straight ? std::max(latest, done) : done;
      finish[s] = std::max(base.finish[s], latest - stages[s].before);
    }
    const Seconds step = outside_pipeline(slowdown, step_end(place->end, finish), finish);
    bound.step = std::min(excluded, step);
  }
  return bounds;
}

}  // namespace pleat
