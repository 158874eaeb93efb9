// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The memory half of BoundTable.
#include <algorithm>

#include "core/plan/rank_map.hpp"
#include "core/program/compile_stage.hpp"
#include "planner/bounds/bounds.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

// Bytes on one rank of `elements` parameters with their gradients and optimizer state.
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

}  // namespace

const HeldChunks& BoundTable::held_of(const Schedule& schedule) {
  return held_.get(schedule_key(schedule), [&] {
    return held_chunks(schedule);
  });
}

// A backward pass begins with the last layer, while the chunk's other layers are still held. The
// head comes last, so that its pass is the first; of decoder layers any may be the last.
double BoundTable::beside_of(const Counts& chunk, const std::vector<LayerVariant>& variants,
                             const Layers& layers) {
  double head = 0, head_saved = 0, least = -1;
  for (const auto& [i, count] : chunk) {
    const auto beside = static_cast<double>(layers[i].beside);
    switch (variants[i].kind) {
      case LayerKind::mtp: return 0;
      case LayerKind::head:
        head = beside;
        head_saved = static_cast<double>(layers[i].saved);
        break;
      case LayerKind::dense:
      case LayerKind::moe: least = least < 0 ? beside : std::min(least, beside); break;
      case LayerKind::embedding:
      case LayerKind::recv:
      case LayerKind::send: break;
    }
  }
  return std::max(head, least - head_saved);
}

std::vector<BoundTable::StageRest> BoundTable::rest_of_stages(const Plan& plan,
                                                              const HeldChunks& held,
                                                              const Shape& shape,
                                                              const Layers& layers) const {
  const std::vector<LayerVariant>& variants = shape.counted->variants();
  const CompiledFrom from(problem_.model, problem_.workload, plan, runtime_);
  const GraphOutputs outputs = graph_outputs(from);
  std::vector<double> graphs;  // by kind of chunk
  for (const Counts& counts : shape.kinds) {
    double& bytes = graphs.emplace_back();
    for (const auto& [i, count] : counts) {
      const LayerVariant& v = variants[i];
      if (!is_decoder(v)) continue;
      const auto layers_of = static_cast<double>(1 + v.more.size());
      bytes += count * layers_of *
               static_cast<double>(v.kind == LayerKind::moe ? outputs.moe : outputs.dense);
    }
  }
  const std::vector<double> gathered = gathered_of_stages(plan, shape, layers);
  std::vector<StageRest> rest;
  for (std::size_t s = 0; s < shape.kind_of.size(); ++s) {
    StageRest& r = rest.emplace_back();
    if (!splits_backward(plan.schedule) && shape.whole[s]) {
      r.beside = beside_of(shape.kinds[shape.kind_of[s].back()], variants, layers);
    }
    r.kept = static_cast<double>(least_allocated(from, Stage{static_cast<int>(s)})) + gathered[s];
    for (const std::vector<std::int64_t>& moment : held[s]) {
      double graph = 0;
      for (std::size_t c = 0; c < moment.size(); ++c) {
        graph += static_cast<double>(moment[c]) * graphs[shape.kind_of[s][c]];
      }
      r.graphs = std::max(r.graphs, graph);
    }
    if (runtime_ != Runtime::megatron) continue;
    double head = 0, of_layer = 0;
    for (const auto& [i, count] : shape.of_stage[s]) {
      double& most = variants[i].kind == LayerKind::head ? head : of_layer;
      most = std::max(most, static_cast<double>(layers[i].weights.kept_gradients));
    }
    r.kept += head + of_layer;
  }
  return rest;
}

std::vector<double> BoundTable::gathered_of_stages(const Plan& plan, const Shape& shape,
                                                   const Layers& layers) const {
  std::vector<double> stages(shape.of_stage.size());
  if (runtime_ != Runtime::megatron || plan.sharding < Sharding::zero2) return stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::vector<LayerElements> elements;
    for (const auto& [i, count] : shape.of_stage[s]) {
      const std::array<std::int64_t, 4>& of = layers[i].weights.of;
      elements.push_back({shape.counted->variants()[i].kind, static_cast<double>(of[0] + of[2]),
                          static_cast<double>(of[1] + of[3])});
    }
    stages[s] = fsdp_bytes(plan, elements);
  }
  return stages;
}

std::vector<double> BoundTable::own_peaks(const Plan& plan, const Shape& shape,
                                          const Layers& layers) {
  const HeldChunks& held = held_of(schedule_of(plan, problem_.workload));
  std::vector<double> saved;  // by kind of chunk
  for (const Counts& counts : shape.kinds) {
    double& chunk = saved.emplace_back();
    for (const auto& [i, count] : counts) chunk += count * static_cast<double>(layers[i].saved);
  }
  const std::vector<StateBytes> state = state_of_stages(plan, plan.sharding, shape, layers);
  const std::vector<StageRest> rest = rest_of_stages(plan, held, shape, layers);
  std::vector<double> by_stage;
  for (std::size_t s = 0; s < shape.kind_of.size(); ++s) {
    double most = 0;
    for (const std::vector<std::int64_t>& moment : held[s]) {
      double now = 0;
      for (std::size_t c = 0; c < moment.size(); ++c) {
        now += static_cast<double>(moment[c]) * saved[shape.kind_of[s][c]];
      }
      most = std::max(most, now);
    }
    by_stage.push_back(state[s].kept + rest[s].kept + rest[s].graphs +
                       std::max(most + rest[s].beside, state[s].reloaded));
  }
  return by_stage;
}

std::int64_t BoundTable::own_peak(const Plan& plan, const Shape& shape, const Layers& layers) {
  return static_cast<std::int64_t>(std::ranges::max(own_peaks(plan, shape, layers))) +
         outside(plan);
}

std::int64_t BoundTable::peak(const Plan& plan, Sharding sharding, const Shape& shape,
                              const Layers& layers, double share_saved) {
  return static_cast<std::int64_t>(
      std::ranges::max(peaks(plan, sharding, shape, layers, share_saved)));
}

std::vector<BoundTable::StateBytes> BoundTable::state_of_stages(const Plan& plan,
                                                                Sharding sharding,
                                                                const Shape& shape,
                                                                const Layers& layers) const {
  // Optimizer state in host memory comes back for the step one bucket at a time.
  Plan resident;
  resident.precision = plan.precision;
  resident.optimizer = plan.optimizer;
  resident.optimizer.state_offload = 0;
  const int copies = group_size(plan, Group::copies);  // of the stage, which share its state
  const int ranks = plan.attention.dp * plan.attention.cp;
  const int shards[2] = {ranks / plan.shard_instances() * copies,
                         plan.expert.edp / plan.expert_instances() * copies};
  std::vector<StateBytes> by_stage;
  by_stage.reserve(shape.of_stage.size());
  for (const Counts& stage : shape.of_stage) {
    const LayerWeights weights = weights_of(stage, true, layers).weights;
    StateBytes& bytes = by_stage.emplace_back();
    for (std::size_t b = 0; b < 2; ++b) {
      const auto elements = static_cast<double>(weights.of[b] + weights.of[b + 2]);
      const double kept = state_bytes(plan, sharding, elements, shards[b]);
      bytes.kept += kept;
      if (plan.optimizer.state_offload <= 0) continue;
      bytes.reloaded =
          std::max(bytes.reloaded, state_bytes(resident, sharding, elements, shards[b]) - kept);
    }
  }
  return by_stage;
}

std::vector<double> BoundTable::peaks(const Plan& plan, Sharding sharding, const Shape& shape,
                                      const Layers& layers, double share_saved) {
  const HeldChunks none;
  const HeldChunks& held_by_stage =
      share_saved > 0 ? held_of(schedule_of(plan, problem_.workload)) : none;
  std::vector<double> by_stage;
  std::vector<double> saved_by_kind;  // of chunks
  if (share_saved > 0) {
    for (const Counts& counts : shape.kinds) {
      double& chunk = saved_by_kind.emplace_back();
      for (const auto& [i, count] : counts) {
        chunk += count * share_saved * static_cast<double>(layers[i].saved);
      }
    }
  }
  by_stage.reserve(shape.kind_of.size());
  const std::vector<StateBytes> state = state_of_stages(plan, sharding, shape, layers);
  for (std::size_t s = 0; s < shape.kind_of.size(); ++s) {
    double saved = 0;
    if (share_saved > 0) {
      for (const std::vector<std::int64_t>& held : held_by_stage[s]) {
        double now = 0;
        for (std::size_t c = 0; c < held.size(); ++c) {
          now += static_cast<double>(held[c]) * saved_by_kind[shape.kind_of[s][c]];
        }
        saved = std::max(saved, now);
      }
    }
    by_stage.push_back(state[s].kept + std::max({0.0, saved, state[s].reloaded}));
  }
  return by_stage;
}

std::int64_t BoundTable::least_outside(Plan plan) const {
  plan.dispatcher = Dispatcher::alltoall;
  plan.cp_a2a = 0;
  put_shards(plan.sharding, 0, plan);
  return outside(plan);
}

std::int64_t BoundTable::outside(const Plan& plan) const {
  return outside_bytes(problem_.model, problem_.workload, plan, runtime_);
}

}  // namespace pleat
