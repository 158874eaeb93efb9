// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Admissible bounds: no estimate of the plan can be faster or smaller. Both come from the prices of
// its layers; what they leave out (transfers between stages, gradient reduction, optimizer) only
// adds.
#pragma once

#include "planner/layer_bounds.hpp"
#include "planner/search.hpp"
#include "simulator/estimator.hpp"
#include "simulator/known.hpp"
#include "simulator/plan_key.hpp"

namespace pleat {

struct PlanBounds {
  Seconds step;
  std::int64_t peak_bytes = 0;  // of the largest stage
};

// time: stage s cannot start before the forward passes of chunk 0 on the stages before it, then has
// all its own work to do, and afterwards the backward passes of chunk 0 on those stages follow:
//   step >= max_s ( m * work_s + alone_s + sum_{i<s} (f_i0 + b_i0) ) + step_overhead
// alone_s: what the passes of warm-up and cool-down take more where the others run in pairs.
// memory: weights, gradients and optimizer state of the stage, what the forward passes before its
// first backward pass leave behind, and what the runtime holds outside of the program.
class BoundTable {
 public:
  // The references must outlive the table.
  BoundTable(const Estimator&, const ModelSpec&, const WorkloadSpec&, const Profile&, Runtime);

  // Of the plan as it is. A pair of layers under expert-parallel overlap counts to both (share_pairs).
  // A plan that takes no longer than `cutoff` keeps the matrix units so busy that they clock lower:
  // what the bound at that clock excludes has a bound just above `cutoff`.
  [[nodiscard]] PlanBounds own(const Plan&, Seconds cutoff);
  // Of every setting and memory choice of the plan's mesh: arithmetic and memory-bound work alone,
  // which no overlap hides, and state alone. `plan` must have the setting with the least such work,
  // `least` be the sharding with the least state.
  [[nodiscard]] PlanBounds mesh(const Plan&, Sharding least);
  // Bytes of every plan of the mesh, if `plan`, recomputed in full, keeps the least of activations.
  [[nodiscard]] std::int64_t least_peak(const Plan&, Sharding least);
  // Of every setting of the mesh with that graph mode: host time is added.
  [[nodiscard]] Seconds graph(const Plan& least_work, CudaGraph);
  // Of every plan that differs in overlap of expert exchanges and of the shared expert alone.
  [[nodiscard]] PlanBounds family(Plan);

 private:
  // How often each of the counted layers occurs, by virtual stage.
  struct Shape {
    std::vector<std::vector<std::vector<int>>> counts;  // [stage][chunk][layer]
  };
  using Layers = std::vector<LayerBound>;

  const Shape& shape_of(const PlanParts&);
  const Layers& layers_of(const PlanParts&, const Plan&, BoundScope, int clock = 0);  // 0: burst
  const Profile& profile_at(int clock);
  // The highest clock of a plan that takes no longer than `cutoff`.
  [[nodiscard]] int highest_clock(const Plan&, const Shape&, const Layers&, Seconds cutoff) const;
  [[nodiscard]] Seconds step(const Plan&, const Shape&, const Layers&, const CudaGraph* host,
                             Seconds LayerBound::*part = &LayerBound::time) const;
  [[nodiscard]] std::int64_t peak(const Plan&, Sharding, const Shape&, const Layers&,
                                  bool saved) const;  // state alone, or what is saved too

  [[nodiscard]] std::int64_t outside(const Plan&) const;  // bytes the runtime holds beside

  const Estimator& estimator_;
  const ModelSpec& model_;
  const WorkloadSpec& workload_;
  const Profile& profile_;
  Runtime runtime_;
  CountedLayers counted_;
  Known<int, Shape, std::hash<int>> shapes_;                // by PlanParts::layout
  Known<NumberKey<3>, Layers, KeyHash> layers_;             // by PlanParts::layers, scope, clock
  Known<int, Profile, std::hash<int>> profiles_;            // by clock
};

}  // namespace pleat
