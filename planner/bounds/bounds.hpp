// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Admissible bounds: no estimate of the plan can be faster or smaller. Both come from the prices of
// its layers and of the operations of the step; what they leave out only adds.
#pragma once

#include "planner/bounds/layer_bounds.hpp"
#include "planner/bounds/pipeline_bound.hpp"
#include "planner/bounds/split_order.hpp"
#include "planner/search/search.hpp"
#include "planner/bounds/step_tail.hpp"
#include "planner/space/technique.hpp"
#include "simulator/estimator.hpp"
#include "simulator/known.hpp"
#include "simulator/plan_key.hpp"

namespace pleat {

struct PlanBounds {
  Seconds step;
  std::int64_t peak_bytes = 0;  // of the largest stage
};

// The plan of a family without overlap but of tensor-parallel exchanges and tile by tile.
[[nodiscard]] Plan in_order(Plan);

// time: the pipeline as in pipeline_bound.hpp with what the layers of each chunk take at least, then
// the step's own operations (step_tail.hpp), of whose exchanges as much is hidden as may be.
// memory: weights, gradients and optimizer state of the stage, what the forward passes before its
// first backward pass leave behind, and what the runtime holds outside of the program.
class BoundTable {
 public:
  // The references must outlive the table.
  BoundTable(const Estimator&, const ModelSpec&, const WorkloadSpec&, const ClusterSpec&,
             const Profile&, Runtime);

  // Of the plan as it is. A pair of layers under expert-parallel overlap counts to both (share_pairs).
  // A plan that takes no longer than `cutoff` keeps the matrix units so busy that they clock lower:
  // what the bound at that clock excludes has a bound just above `cutoff`. Of what is beyond nothing is
  // said of the bytes.
  [[nodiscard]] PlanBounds own(const Plan&, Seconds cutoff);
  // The same from the layers of `reference`, which take no longer than the plan's own.
  [[nodiscard]] Seconds by_reference(const Plan& reference, const Plan&, Seconds cutoff);
  // Of every setting and memory choice of the plan's mesh: arithmetic and memory-bound work alone,
  // which no overlap hides, and state alone. `plan` must have the setting with the least such work.
  // The pipeline is all that its time counts.
  [[nodiscard]] PlanBounds mesh(const Plan&, const StateChoices&);
  // The time with the step's own operations.
  [[nodiscard]] Seconds whole_mesh(const Plan&, const StateChoices&);
  // Bytes of every plan of the mesh, if `plan`, recomputed in full, saves no more than 1 / `share` of
  // what any of them does.
  [[nodiscard]] std::int64_t least_peak(const Plan&, Sharding least, double share);
  // Bytes of every plan with this one's mesh and setting: state alone.
  [[nodiscard]] std::int64_t least_state(Plan, StatePlace least);
  // Of every setting of the mesh with that graph mode: host time is added.
  [[nodiscard]] Seconds graph(const Plan& least_work, CudaGraph, const StateChoices&);
  // Of every plan that differs in overlap of expert exchanges and of the shared expert alone. Beyond
  // `cutoff` the time need not be all that could be said, and nothing is of the bytes.
  [[nodiscard]] PlanBounds family(const Plan&, Seconds cutoff);
  [[nodiscard]] std::int64_t peak_of_family(const Plan&);
  [[nodiscard]] std::vector<std::int64_t> peaks_of_family(const Plan&);  // the bytes, by stage
  // The time alone, from the layers of `reference`, which take no longer.
  [[nodiscard]] Seconds family_by_reference(const Plan& reference, const Plan&, Seconds cutoff);

 private:
  // Which of the counted layers there are, and how often each. Most chunks are alike.
  struct LayerCount {
    std::size_t layer;
    int count;
    bool operator==(const LayerCount&) const = default;
  };
  using Counts = std::vector<LayerCount>;  // by layer
  struct Shape {
    const CountedLayers* counted = nullptr;
    std::vector<Counts> kinds;                       // of chunks that differ
    std::vector<std::vector<std::size_t>> kind_of;   // [stage][chunk]
    std::vector<Counts> of_stage;                    // all its chunks
    std::vector<bool> whole;  // by stage: nothing is left out, or counted as something smaller
  };
  using Layers = std::vector<LayerBound>;

  const Shape& shape_of(const PlanParts&, const Plan&);
  const CountedLayers& counted_of(const PlanParts&, const Plan&);
  const Layers& layers_of(const PlanParts&, const Plan&, BoundScope, int clock = 0);  // 0: burst
  const Profile& profile_at(int clock);
  // The highest clock of a plan that takes no longer than `cutoff`.
  [[nodiscard]] int highest_clock(const Plan&, const Shape&, const Layers&, Seconds cutoff) const;
  // What a bound takes the time from.
  struct Sources {
    const Shape& shape;
    const Layers& layers;
    const CudaGraph* host = nullptr;  // added
    bool exchanges = false;           // of experts instead of time
    bool passes = false;              // `layers` are the plan's own: passes hide only what they take
  };
  // A pass of one layer, by LayerCount::layer.
  [[nodiscard]] std::vector<ChunkBound> layer_times(const Sources&) const;
  // When the stages are done, and what of their passes may hide exchanges.
  struct Pipeline {
    std::vector<Seconds> finish;
    std::vector<std::optional<StagePasses>> passes;
  };
  [[nodiscard]] Pipeline pipeline(const Plan&, const Sources&);
  const SplitOrder& order_of(Schedule);
  [[nodiscard]] Seconds outside_pipeline(const Plan&, Seconds end_of_stages,
                                         const Pipeline&) const;
  [[nodiscard]] Seconds step(const Plan&, const PlanParts&, const Sources&);
  [[nodiscard]] Seconds step(const Plan&, const PlanParts&, const Sources&, const Pipeline&);
  [[nodiscard]] Seconds least_step(Plan, const StateChoices&, const PlanParts&, const Sources&);
  const StepTail& tail_of(const Plan&, const PlanParts&, const Shape&, const Layers&);
  [[nodiscard]] StageWeights weights_of(const Counts& stage, bool whole, const Layers&) const;
  [[nodiscard]] Seconds own_step(const Plan& layers_of, const PlanParts& of_those, const Plan&,
                                 Seconds cutoff, bool passes);
  [[nodiscard]] Seconds family_step(const Plan& ordered, const PlanParts& of_that, const Plan&,
                                    Seconds cutoff);
  // So much of what is saved beside state; of each stage, or of the largest.
  [[nodiscard]] std::vector<double> peaks(const Plan&, Sharding, const Shape&, const Layers&,
                                          double saved);
  [[nodiscard]] std::int64_t peak(const Plan&, Sharding, const Shape&, const Layers&,
                                  double saved);
  const HeldChunks& held_of(const Schedule&);

  [[nodiscard]] std::int64_t outside(const Plan&) const;  // bytes the runtime holds beside

  const Estimator& estimator_;
  const ModelSpec& model_;
  const WorkloadSpec& workload_;
  const ClusterSpec& cluster_;
  const Profile& profile_;
  Runtime runtime_;
  CountedLayers counted_;                                   // of plans whose layers are alike
  Known<int, CountedLayers, std::hash<int>> counted_apart_;  // of others, by PlanParts::layout
  Known<int, Shape, std::hash<int>> shapes_;                // by PlanParts::layout
  // By PlanParts::layers, scope, clock, and layout if its layers are not alike.
  Known<NumberKey<4>, Layers, KeyHash> layers_;
  Known<int, Profile, std::hash<int>> profiles_;            // by clock
  Known<NumberKey<24>, StepTail, KeyHash> tails_;
  Known<ScheduleKey, HeldChunks, KeyHash> held_;
  Known<ScheduleKey, SplitOrder, KeyHash> orders_;
};

}  // namespace pleat
