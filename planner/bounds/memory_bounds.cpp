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
    return std::make_unique<HeldChunks>(held_chunks(schedule));
  });
}

std::int64_t BoundTable::peak(const Plan& plan, Sharding sharding, const Shape& shape,
                              const Layers& layers, double share_saved) {
  return static_cast<std::int64_t>(
      std::ranges::max(peaks(plan, sharding, shape, layers, share_saved)));
}

std::vector<std::int64_t> BoundTable::peaks_of_family(const Plan& plan) {
  const PlanParts parts = estimator_.parts(in_order(plan));
  const Layers& layers = layers_of(parts, in_order(plan), BoundScope::family);
  std::vector<std::int64_t> bytes;
  for (const double peak : peaks(plan, plan.sharding, shape_of(parts, plan), layers, 1)) {
    bytes.push_back(static_cast<std::int64_t>(peak) + outside(plan));
  }
  return bytes;
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

std::int64_t BoundTable::outside(const Plan& plan) const {
  return outside_bytes(problem_.model, problem_.workload, plan, runtime_);
}

}  // namespace pleat
