// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds.hpp"

#include <algorithm>

#include "core/program/compile_stage.hpp"
#include "core/program/pipeline_order.hpp"
#include "simulator/stage_memory.hpp"

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

// Chunks of a stage whose forward passes come before its first backward one, by chunk (the order of
// core/program/pipeline_order.cpp). Groups that are not full count as the smallest chunk: empty.
std::vector<std::int64_t> in_flight(const Schedule& s, Stage stage) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(s.vpp));
  const int slots = std::min(warmup_slots(s, stage) + 1, s.microbatches * s.vpp);
  const int group = s.vpp == 1 ? 1 : s.group > 0 ? s.group : s.pp;
  if (s.microbatches % group != 0) return {};
  for (int k = 0; k < slots; ++k) ++count[static_cast<std::size_t>(k / group % s.vpp)];
  return count;
}

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
                                                BoundScope scope) {
  const NumberKey<2> key{{parts.layers, static_cast<int>(scope)}};
  return layers_.get(key, [&] {
    return std::make_unique<Layers>(bound_layers(counted_, *parts.library, scope,
                                                 plan.overlap.expert_parallel, profile_));
  });
}

Seconds BoundTable::step(const Plan& plan, const Shape& shape, const Layers& layers,
                         const CudaGraph* host, Seconds LayerBound::*part) const {
  std::vector<Seconds> time;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    time.push_back(layers[i].*part);
    if (host != nullptr) time.back() += host_time(counted_.variants()[i], *host, profile_);
  }
  const auto microbatches = static_cast<double>(plan.microbatches(workload_.global_batch));
  Seconds longest, way;  // way: chunk 0 of the stages before, both passes
  for (const auto& stage : shape.counts) {
    Seconds work, first;
    for (std::size_t c = 0; c < stage.size(); ++c) {
      Seconds chunk;
      for (std::size_t i = 0; i < time.size(); ++i) chunk += time[i] * stage[c][i];
      work += chunk;
      if (c == 0) first = chunk;
    }
    longest = std::max(longest, microbatches * work + way);
    way += first;
  }
  return longest + profile_.step_overhead;
}

std::int64_t BoundTable::peak(const Plan& plan, Sharding sharding, const Shape& shape,
                              const Layers& layers, bool state_alone) const {
  Schedule schedule = schedule_of(plan, workload_);
  schedule.paired = false;
  double most = 0;
  for (std::size_t s = 0; s < shape.counts.size(); ++s) {
    const auto& stage = shape.counts[s];
    double weights[2] = {0, 0}, saved = 0;
    const std::vector<std::int64_t> held =
        state_alone ? std::vector<std::int64_t>{} : in_flight(schedule, Stage{static_cast<int>(s)});
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
  std::int64_t bytes = static_cast<std::int64_t>(most);
  if (!state_alone) bytes += outside_bytes(model_, workload_, plan, runtime_);
  return bytes;
}

PlanBounds BoundTable::own(const Plan& plan) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts);
  const Layers& layers = layers_of(parts, plan, BoundScope::setting);
  return {step(plan, shape, layers, nullptr), peak(plan, plan.sharding, shape, layers, false)};
}

PlanBounds BoundTable::mesh(const Plan& plan, Sharding least) {
  const PlanParts parts = estimator_.parts(plan);
  const Shape& shape = shape_of(parts);
  const Layers& layers = layers_of(parts, plan, BoundScope::mesh);
  return {step(plan, shape, layers, nullptr), peak(plan, least, shape, layers, true)};
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
          peak(plan, plan.sharding, shape, layers, false)};
}

}  // namespace pleat
