// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of all memory choices of a plan at once, from the layers of the one that saves nothing.
// What a choice drops is counted in full, what it keeps beside that is not; what it runs again is
// added to the backward passes.
#include "planner/bounds/choice_bounds.hpp"

#include <algorithm>
#include <array>

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

std::vector<PlanBounds> BoundTable::by_choice(const Plan& plan, const ChoiceWays& ways,
                                              std::int64_t usable) {
  const Plan ordered = in_order(plan);
  const PlanParts parts = estimator_.parts(ordered);
  const Shape& shape = shape_of(parts, ordered);
  const Layers& layers = layers_of(parts, ordered, BoundScope::family);
  const std::vector<LayerSavings>& savings = savings_of_layers(parts, *shape.counted);
  const Sources from{.shape = shape, .layers = layers, .host = &ordered.cuda_graph};
  const Pipeline base = pipeline(plan, from);
  const std::size_t stages = shape.kind_of.size(), kinds = shape.kinds.size();

  // By way and kind of chunk.
  std::vector<ChunkSavings> recomputed;
  std::vector<double> sent, saved(kinds);
  std::vector<std::vector<CountedSavings>> of_kind(kinds);
  for (std::size_t k = 0; k < kinds; ++k) {
    for (const auto& [i, count] : shape.kinds[k]) {
      of_kind[k].push_back({savings[i], layers[i], layers[i].waits, count});
      saved[k] += static_cast<double>(layers[i].saved) * count;
    }
  }
  for (const RecomputeWay& way : ways.recompute) {
    for (const auto& chunk : of_kind) {
      recomputed.push_back(way.full ? of_whole_layers(chunk, way) : of_modules(chunk, way.parts));
    }
  }
  for (const OffloadWay& way : ways.offload) {
    for (const auto& chunk : of_kind) sent.push_back(offloaded(chunk, way));
  }

  // By stage: its chunks and those that it holds at each moment, by kind; and the least time at
  // which the first stage is done for what this one has to do, recompute apart.
  const HeldChunks& held_by_stage = held_of(schedule_of(plan, problem_.workload));
  const std::vector<ChunkBound> times = layer_times(from);
  struct StageSums {
    std::vector<double> chunks;
    std::vector<std::vector<double>> held;
    Seconds out, done;
  };
  std::vector<StageSums> sums(stages);
  std::vector<Seconds> pass[2];
  for (std::size_t k = 0; k < kinds; ++k) {
    for (std::size_t p = 0; p < 2; ++p) {
      Seconds& sum = pass[p].emplace_back();
      for (const auto& [i, count] : shape.kinds[k]) sum += times[i].pass[p] * count;
    }
  }
  const bool straight = plan.schedule == PipelineSchedule::one_f_one_b;
  const double microbatches =
      static_cast<double>(plan.microbatches(problem_.workload.global_batch)) /
      (plan.schedule == PipelineSchedule::dualpipe ? 2 : 1);
  Seconds in, out;
  for (std::size_t s = 0; s < stages; ++s) {
    StageSums& sum = sums[s];
    sum.chunks.resize(kinds);
    Seconds work;
    for (const std::size_t k : shape.kind_of[s]) {
      ++sum.chunks[k];
      work += pass[0][k] + pass[1][k];
    }
    for (const std::vector<std::int64_t>& moment : held_by_stage[s]) {
      std::vector<double>& held = sum.held.emplace_back(kinds);
      for (std::size_t c = 0; c < moment.size(); ++c) {
        held[shape.kind_of[s][c]] += static_cast<double>(moment[c]);
      }
    }
    sum.out = out;
    sum.done = in + work * microbatches + out;
    if (!straight) continue;
    in += pass[0][shape.kind_of[s].front()];
    out += pass[1][shape.kind_of[s].front()];
  }

  const std::int64_t more = outside(plan);
  const auto room = static_cast<double>(usable - more);
  std::array<std::vector<StateBytes>, 3> state;  // by place and stage
  std::array<const StepTail*, 3> tails{};
  std::vector<PlanBounds> bounds;
  bounds.reserve(ways.choices.size());
  std::vector<double> kept(kinds);
  Pipeline longer{.finish = base.finish, .passes = {}};
  Plan placed = plan;
  for (const ChoiceWays::Choice& choice : ways.choices) {
    const auto place = static_cast<std::size_t>(choice.state);
    if (state[place].empty()) {
      put_state(choice.state, placed);
      state[place] = state_of_stages(placed, placed.sharding, shape, layers);
      tails[place] = &tail_of(placed, parts, shape, layers);
    }
    PlanBounds& bound = bounds.emplace_back();
    const ChunkSavings* const again = recomputed.data() + choice.recompute * kinds;
    for (std::size_t k = 0; k < kinds; ++k) {
      kept[k] = std::max(0.0, saved[k] - again[k].bytes - sent[choice.offload * kinds + k]);
    }
    double most = 0;
    for (std::size_t s = 0; s < stages && !choice.by_stage && most <= room; ++s) {
      double held = 0;
      for (const std::vector<double>& moment : sums[s].held) {
        double now = 0;
        for (std::size_t k = 0; k < kinds; ++k) now += moment[k] * kept[k];
        held = std::max(held, now);
      }
      const StateBytes& bytes = state[place][s];
      most = std::max(most, bytes.kept + std::max(held, bytes.reloaded));
    }
    bound.peak_bytes = choice.by_stage ? 0 : static_cast<std::int64_t>(most) + more;
    if (bound.peak_bytes > usable) continue;
    Seconds latest;
    for (std::size_t s = stages; s-- > 0;) {
      const StageSums& sum = sums[s];
      Seconds extra;
      for (std::size_t k = 0; k < kinds; ++k) extra += again[k].longer * sum.chunks[k];
      const Seconds done = sum.done + extra * microbatches;
      latest = straight ? std::max(latest, done) : done;
      longer.finish[s] = std::max(base.finish[s], latest - sum.out);
    }
    put_state(choice.state, placed);
    bound.step = outside_pipeline(
        placed,
        step_end(*tails[place], placed, runtime_, problem_.profile,
                 plan.microbatches(problem_.workload.global_batch), longer.finish, longer.passes),
        longer);
  }
  return bounds;
}

}  // namespace pleat
