// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "core/program/compile_stage.hpp"
#include "core/program/pipeline_order.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/summarise_step.hpp"

namespace pleat {
namespace {

// Bytes of `elements` parameters with gradient and optimizer state on one rank.
double state_bytes(const Plan& plan, Sharding sharding, double elements, int shards) {
  const auto size = [](DType type) { return static_cast<double>(bytes_of(type, 32)) / 32; };
  const OptimizerPlan& o = plan.optimizer;
  double weight = 2;  // bf16, or the row-wise and column-wise copies of an 8-bit type
  double optimizer = size(o.exp_avg);
  switch (o.kind) {
    case OptimizerKind::adamw:
    case OptimizerKind::lamb: optimizer += size(o.exp_avg_sq); break;
    case OptimizerKind::sgd:
    case OptimizerKind::muon: break;
  }
  if (plan.precision == Precision::fp32) {
    weight = 4;
  } else {
    optimizer += size(o.main_params);
  }
  optimizer *= 1 - std::max(o.state_offload, o.cpu_offload);
  double gradient = size(o.main_grads);
  const double n = shards;
  switch (sharding) {
    case Sharding::none:
      break;
    case Sharding::zero1:
      optimizer /= n;
      break;
    case Sharding::zero2:
      optimizer /= n;
      gradient /= n;
      break;
    case Sharding::zero3:
      optimizer /= n;
      gradient /= n;
      weight /= n;
      break;
  }
  return elements * (weight + gradient + optimizer);
}

// Chunks of the first `slots` passes of a stage, by chunk (the order of
// core/program/pipeline_order.cpp); empty where groups of microbatches are not full.
std::vector<std::int64_t> first_chunks(const Schedule& s, int slots) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(s.vpp));
  const int group = s.vpp == 1 ? 1 : s.group > 0 ? s.group : s.pp;
  if (s.microbatches % group != 0) return {};
  for (int k = 0; k < slots; ++k) ++count[static_cast<std::size_t>(k / group % s.vpp)];
  return count;
}

// Forward passes of a stage up to its first backward one.
int forward_first(const Schedule& s, Stage stage) {
  return std::min(warmup_slots(s, stage) + 1, s.microbatches * s.vpp);
}

// Clocks bounds are worked out for: so many steps of kClockSteps apart.
constexpr int kClockGrid = 8;

}  // namespace

BoundTable::BoundTable(const Estimator& estimator, const ModelSpec& model,
                       const WorkloadSpec& workload, const Profile& profile, Runtime runtime)
    : estimator_(estimator),
      model_(model),
      workload_(workload),
      profile_(profile),
      runtime_(runtime),
      counted_(model) {}

const BoundTable::Shape& BoundTable::shape_of(const PlanParts& parts) {
  return shapes_.get(parts.layout, [&] {
    auto shape = std::make_unique<Shape>();
    for (const StageComposition& stage : *parts.stages) {
      auto& chunks = shape->counts.emplace_back();
      for (const auto& chunk : stage.chunks) {
        auto& counts = chunks.emplace_back(counted_.variants().size());
        for (const PlacedLayer& placed : chunk) {
          const int layer =
              counted_.index_of(stage.variants[static_cast<std::size_t>(placed.variant)]);
          if (layer >= 0) ++counts[static_cast<std::size_t>(layer)];
        }
      }
    }
    return shape;
  });
}

const BoundTable::Layers& BoundTable::layers_of(const PlanParts& parts, const Plan& plan,
                                                BoundScope scope, int clock) {
  const NumberKey<3> key{{parts.layers, static_cast<int>(scope), clock}};
  return layers_.get(key, [&] {
    const bool burst = clock == 0;
    return std::make_unique<Layers>(bound_layers(
        counted_, *parts.library, scope, plan.overlap.expert_parallel,
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
  for (std::size_t s = 0; s < shape.counts.size(); ++s) {
    Seconds matrix;
    for (const auto& chunk : shape.counts[s]) {
      for (std::size_t i = 0; i < layers.size(); ++i) matrix += layers[i].matrix * chunk[i];
    }
    if (s == 0 || matrix < least) least = matrix;
  }
  StepEstimate e;
  e.step = cutoff;
  e.parts[static_cast<std::size_t>(CostClass::gemm)] = std::min(cutoff, microbatches * least);
  const int clock = sustained_clock(profile_.sustained_clock, e);
  return std::min(kClockSteps, (clock + kClockGrid - 1) / kClockGrid * kClockGrid);
}

Seconds BoundTable::step(const Plan& plan, const Shape& shape, const Layers& layers,
                         const CudaGraph* host, Seconds LayerBound::*part) const {
  std::vector<Seconds> time;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    time.push_back(layers[i].*part);
    if (host != nullptr) time.back() += host_time(counted_.variants()[i], *host, profile_);
  }
  const auto microbatches = static_cast<double>(plan.microbatches(workload_.global_batch));
  const Schedule schedule = schedule_of(plan, workload_);
  const bool pairs = schedule.paired && (schedule.vpp > 1 || schedule.pp == 1);
  Seconds longest, way;  // way: chunk 0 of the stages before, both passes
  for (std::size_t s = 0; s < shape.counts.size(); ++s) {
    const auto& stage = shape.counts[s];
    Seconds work, first, alone;
    std::vector<std::int64_t> unpaired;
    if (pairs) {
      const Stage id{static_cast<int>(s)};
      unpaired = first_chunks(schedule, warmup_slots(schedule, id));
    }
    for (std::size_t c = 0; c < stage.size(); ++c) {
      Seconds chunk;
      for (std::size_t i = 0; i < time.size(); ++i) chunk += time[i] * stage[c][i];
      work += chunk;
      if (c == 0) first = chunk;
      if (unpaired.empty()) continue;
      // The last backward passes are of the chunks from the other end.
      const auto ahead = static_cast<double>(unpaired[c]);
      const auto behind = static_cast<double>(unpaired[stage.size() - 1 - c]);
      for (std::size_t i = 0; i < layers.size(); ++i) {
        alone += (layers[i].alone[0] * ahead + layers[i].alone[1] * behind) * stage[c][i];
      }
    }
    longest = std::max(longest, microbatches * work + alone + way);
    way += first;
  }
  return longest + profile_.step_overhead;
}

std::int64_t BoundTable::peak(const Plan& plan, Sharding sharding, const Shape& shape,
                              const Layers& layers, bool with_saved) const {
  Schedule schedule = schedule_of(plan, workload_);
  schedule.paired = false;
  double most = 0;
  for (std::size_t s = 0; s < shape.counts.size(); ++s) {
    const auto& stage = shape.counts[s];
    double weights[2] = {0, 0}, saved = 0;
    const std::vector<std::int64_t> held =
        with_saved ? first_chunks(schedule, forward_first(schedule, Stage{static_cast<int>(s)}))
                   : std::vector<std::int64_t>{};
    for (std::size_t c = 0; c < stage.size(); ++c) {
      double chunk = 0;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        const double count = stage[c][i];
        for (int b = 0; b < 2; ++b) weights[b] += count * static_cast<double>(layers[i].weights[b]);
        chunk += count * static_cast<double>(layers[i].saved);
      }
      if (!held.empty()) saved += static_cast<double>(held[c]) * chunk;
    }
    most = std::max(
        most, std::max(0.0, saved) + state_bytes(plan, sharding, weights[0], plan.attention.dp * plan.attention.cp) +
                  state_bytes(plan, sharding, weights[1], plan.expert.edp));
  }
  return static_cast<std::int64_t>(most);
}

std::int64_t BoundTable::outside(const Plan& plan) const {
  return outside_bytes(model_, workload_, plan, runtime_);
}

PlanBounds BoundTable::own(const Plan& plan, Seconds cutoff) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts);
  const Layers& layers = layers_of(parts, plan, BoundScope::setting);
  PlanBounds result{step(plan, shape, layers, nullptr),
                    peak(plan, plan.sharding, shape, layers, true) + outside(plan)};
  const double limit = cutoff.base();
  if (profile_.sustained_clock.duty_slope <= 0 || std::isinf(limit) || result.step > cutoff) {
    return result;
  }
  const int clock = highest_clock(plan, shape, layers, cutoff);
  if (clock >= kClockSteps) return result;
  const Layers& slower = layers_of(parts, plan, BoundScope::setting, clock);
  const Seconds excluded(std::nextafter(limit, 2 * limit));
  result.step = std::max(result.step, std::min(excluded, step(plan, shape, slower, nullptr)));
  return result;
}

PlanBounds BoundTable::mesh(const Plan& plan, Sharding least) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts);
  const Layers& layers = layers_of(parts, plan, BoundScope::mesh);
  return {step(plan, shape, layers, nullptr), peak(plan, least, shape, layers, false)};
}

std::int64_t BoundTable::least_peak(const Plan& plan, Sharding least) {
  const PlanParts parts = estimator_.parts(plan);
  return peak(plan, least, shape_of(parts), layers_of(parts, plan, BoundScope::family), true);
}

Seconds BoundTable::graph(const Plan& plan, CudaGraph graph) {
  const PlanParts parts = estimator_.parts(plan);
  return step(plan, shape_of(parts), layers_of(parts, plan, BoundScope::mesh), &graph);
}

PlanBounds BoundTable::family(Plan plan) {
  const bool tensor_parallel = plan.overlap.tensor_parallel;
  plan.overlap = {};
  plan.overlap.tensor_parallel = tensor_parallel;
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts);
  const Layers& layers = layers_of(parts, plan, BoundScope::family);
  const Seconds exchanges =
      step(plan, shape, layers, &plan.cuda_graph, &LayerBound::exchanges);
  return {std::max(step(plan, shape, layers, &plan.cuda_graph), exchanges),
          peak(plan, plan.sharding, shape, layers, true) + outside(plan)};
}

}  // namespace pleat
