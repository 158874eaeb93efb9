// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of step time and memory: the estimate of a plan is never below them. They add up
// prices of the plan's layers and of the step's own operations, and leave out only what would add
// to them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "planner/bounds/bounds_by_choice.hpp"
#include "planner/bounds/choice_times.hpp"
#include "planner/bounds/choice_ways.hpp"
#include "planner/bounds/layer_bounds.hpp"
#include "planner/bounds/pipeline_bound.hpp"
#include "planner/bounds/plan_bounds.hpp"
#include "planner/bounds/split_order.hpp"
#include "planner/bounds/step_tail.hpp"
#include "planner/problem.hpp"
#include "planner/space/shard_sets.hpp"
#include "simulator/estimator.hpp"
#include "simulator/known.hpp"
#include "simulator/plan_key.hpp"

namespace pleat {

// The plan with all overlap switched off except that of tensor-parallel exchanges and of tiles: it
// has the layers that all plans of its family share.
[[nodiscard]] Plan in_order(Plan);

// Layers that were compiled for bounds. They are forgotten when this goes, so that bounds which
// need the same ones can be asked for together.
class CompiledLayers {
 public:
  CompiledLayers() = default;
  CompiledLayers(const CompiledLayers&) = delete;
  CompiledLayers& operator=(const CompiledLayers&) = delete;
  ~CompiledLayers();
  void add(LayerLibrary&);

 private:
  std::vector<LayerLibrary*> of_;
};

// Time: the pipeline (pipeline_bound.hpp) with the least time of each chunk's layers, then the
// step's own operations (step_tail.hpp), with as much of their exchanges hidden behind compute as
// possible. Memory: a stage's weights, gradients and optimizer state, the activations that are
// saved before its first backward pass, and what the runtime allocates outside of the program.
class BoundTable {
 public:
  // The references must outlive the table.
  BoundTable(const Estimator&, const Problem&, Runtime);

  // GPUs clock lower when their matrix units are busy, and a plan that takes at most `cutoff` keeps
  // them busy at least to some degree. So times are those of the highest clock that such a plan can
  // have. If that is above `cutoff`, so is every plan, and a value just above `cutoff` is returned.

  // Of exactly this plan. The time of two layers that overlap is shared between them (share_pairs).
  // A time above `cutoff` comes without bytes.
  [[nodiscard]] PlanBounds own(const Plan&, Seconds cutoff);
  [[nodiscard]] Seconds own_step(const Plan&, Seconds cutoff, CompiledLayers&);  // the time alone
  [[nodiscard]] std::int64_t own_peak(const Plan&);                             // the bytes alone
  // The same with the layers of `reference`, which must take no longer than the plan's own. Many
  // plans share a reference, so this is cheaper and less tight.
  [[nodiscard]] Seconds by_reference(const Plan& reference, const Plan&, Seconds cutoff,
                                     CompiledLayers&);
  [[nodiscard]] Seconds by_reference(const Plan& reference, const Plan& plan, Seconds cutoff) {
    CompiledLayers compiled;
    return by_reference(reference, plan, cutoff, compiled);
  }
  // Of all plans with this one's mesh, whatever their settings and memory choices. Time: the
  // pipeline alone, with arithmetic and memory-bound work, which overlap cannot hide; `plan` must
  // have the settings with the least of it. Memory: weights, gradients and optimizer state, and
  // what the runtime allocates outside of the program, alone.
  [[nodiscard]] PlanBounds mesh(const Plan&, const StateChoices&, Seconds cutoff);
  // The time of all plans with this one's degrees, microbatch and order, whatever the chunks:
  // stages that share the work evenly and never wait, at the burst clock.
  [[nodiscard]] Seconds grid(const Plan&);
  // The time of the plans of a mesh, with the step's own operations added.
  [[nodiscard]] Seconds whole_mesh(const Plan&, const StateChoices&, Seconds cutoff);
  // Bytes of all plans of the mesh. `plan` recomputes every layer in full; `share` is the part of
  // its saved activations that every other plan saves at least.
  [[nodiscard]] std::int64_t least_peak(const Plan&, Sharding least, double share);
  // Bytes of all plans with this one's mesh and settings, whatever they give up: weights, gradients
  // and optimizer state, and what the runtime holds beside them. `of_mesh`: any plan of the mesh.
  [[nodiscard]] std::int64_t least_state(const Plan& of_mesh, Plan, const StateChoices&);
  // Ways in which the plans of a mesh may exchange: which of the search they are, a bit for each,
  // and a plan of each that gives up nothing, as for `exchange`.
  struct Exchanges {
    std::uint64_t which;
    CudaGraph graph;  // which leaves the fewest launches
    std::function<std::vector<Plan>()> references;
  };
  // The time of all plans of the mesh that exchange in any of these ways, with the host's launches:
  // each layer takes the least of its times. `plan` is as for `mesh`. What the references' layers
  // depend on beside `which` must be the same for all plans with its layers.
  [[nodiscard]] Seconds exchanges(const Plan&, const Exchanges&, const StateChoices&,
                                  Seconds cutoff);
  // Before another search, whose ways to exchange are others. While nobody asks for bounds.
  void forget_exchanges() { exchanges_.clear(); }
  // The time of all plans of the mesh that exchange as `reference` does, which has the least
  // sharding and launches.
  [[nodiscard]] Seconds exchange(const Plan& reference, const StateChoices&, Seconds cutoff);
  // Of all plans that differ from this one only in how expert exchanges and the shared expert
  // overlap. Once the time is above `cutoff` it is not made tighter, and the bytes are left out.
  [[nodiscard]] PlanBounds family(const Plan&, Seconds cutoff);
  [[nodiscard]] std::int64_t peak_of_family(const Plan&);
  // The same of every memory choice, by choice. `plan` has the one that saves nothing, on the
  // device. Much cheaper than to ask for each, and less tight. The time only of those that fit
  // `usable` bytes, going by this; by stage the time alone. Bytes are those of `order`: the order
  // of the plan's pipeline, or one that holds less; or kHostIsFull, kStepRefused.
  [[nodiscard]] BoundsByChoice by_choice(const Plan&, const Schedule& order, const ChoiceWays&,
                                         std::int64_t usable, Seconds cutoff);
  // The times of the same choices, with the plan's own layers: tighter, and without bytes. The plan
  // saves nothing and does not split backward passes.
  [[nodiscard]] ChoiceTimes times_of_choices(const Plan&, const ChoiceWays&, Seconds cutoff);
  // The time alone, with the layers of `reference`, which must take no longer.
  [[nodiscard]] Seconds family_by_reference(const Plan& reference, const Plan&, Seconds cutoff);

  // Forgets bounds of layers where there are many; the prices that they are made of are known.
  // Call it while nothing is bounded.
  void forget_layers();

 private:
  friend class OneChoiceBounds;  // one_choice_bounds.hpp
  using Counts = LayerCounts;  // most chunks are alike
  struct Shape {
    const CountedLayers* counted = nullptr;
    std::vector<Counts> kinds;                       // of chunks that differ
    std::vector<int> decoders;                       // by kind: decoder layers in all
    std::vector<std::vector<std::size_t>> kind_of;   // [stage][chunk]
    std::vector<Counts> of_stage;                    // all its chunks
    std::vector<bool> whole;  // by stage: nothing is left out, or counted as something smaller
  };
  using Layers = std::vector<LayerBound>;

  const Shape& shape_of(const PlanParts&, const Plan&);
  const CountedLayers& counted_of(const PlanParts&, const Plan&);
  // The tightest scope of the plan's own layers.
  BoundScope scope_of(const PlanParts&, const Plan&);
  const Layers& layers_of(const PlanParts&, const Plan&, BoundScope);
  const Layers& layers_of(const PlanParts&, const Plan&, BoundScope, int clock,  // 0: burst
                          CompiledLayers&);
  Layers made_layers(const PlanParts&, const Plan&, BoundScope, int clock, CompiledLayers&);
  const Profile& profile_at(int clock);
  // step_of(layers, Sources::near) at the highest clock of a plan that takes no longer than
  // `cutoff`. `layers_of`: whose layers.
  template <class StepOf>
  [[nodiscard]] Seconds at_highest_clock(const PlanParts&, const Plan& layers_of, const Plan&,
                                         BoundScope, Seconds cutoff, CompiledLayers&,
                                         const StepOf& step_of);
  // The same with layers_at(clock).
  template <class LayersAt, class StepOf>
  [[nodiscard]] Seconds at_highest_clock(const Plan&, const Shape&, Seconds cutoff,
                                         const LayersAt& layers_at, const StepOf& step_of);
  [[nodiscard]] Layers least_of(const std::vector<Plan>& references, int clock, CompiledLayers&);
  // That clock. kClockSteps: the burst clock.
  [[nodiscard]] int highest_clock(const Plan&, const Shape&, const Layers&, Seconds cutoff) const;
  // What a bound takes the time from.
  struct Sources {
    const Shape& shape;
    const Layers& layers;
    const CudaGraph* host = nullptr;  // added
    // Counted instead of LayerBound::time, if any: its `exchanges` or `copies`.
    Seconds (LayerBound::*beside)[2] = nullptr;
    bool passes = false;  // `layers` are the plan's own: passes hide only what they take
    // The bound is of one plan and not of all groups of microbatches up to the plan's.
    bool one_group = false;
    PassOrder::Near near = {};
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
  // What the pipeline model leaves out: stragglers, and cores of the host that ranks share.
  struct Slowdown {
    double excess, share;
  };
  [[nodiscard]] Slowdown slowdown_of(const Plan&, std::size_t stages) const;
  [[nodiscard]] Seconds outside_pipeline(const Slowdown&, Seconds end_of_stages,
                                         const std::vector<Seconds>& finish) const;
  [[nodiscard]] Seconds outside_pipeline(const Plan&, Seconds end_of_stages,
                                         const Pipeline&) const;
  [[nodiscard]] Seconds step(const Plan&, const PlanParts&, const Sources&);
  [[nodiscard]] Seconds step(const Plan&, const PlanParts&, const Sources&, const Pipeline&);
  [[nodiscard]] Seconds least_step(Plan, const StateChoices&, const PlanParts&, const Sources&);
  const StepTail& tail_of(const Plan&, const PlanParts&, const Shape&, const Layers&);
  [[nodiscard]] StageWeights weights_of(const Counts& stage, bool whole, const Layers&) const;
  [[nodiscard]] Seconds own_step(const Plan& layers_of, const PlanParts& of_those, const Plan&,
                                 BoundScope, Seconds cutoff, bool passes, CompiledLayers&);
  // The longer of `from` and of each thing that may run beside all the rest; `step_of(sources)`.
  template <class StepOf>
  [[nodiscard]] static Seconds longest(Sources from, Seconds cutoff, const StepOf& step_of);
  [[nodiscard]] Seconds family_step(const Plan& ordered, const PlanParts& of_that, const Plan&,
                                    Seconds cutoff);
  // Bytes of a stage's state, and what more is there while it is on the GPU for the step.
  struct StateBytes {
    double kept = 0, reloaded = 0;
  };
  [[nodiscard]] std::vector<StateBytes> state_of_stages(const Plan&, Sharding, const Shape&,
                                                        const Layers&) const;
  // What a stage of a plan with these settings holds at least beside state and saved activations.
  struct StageRest {
    double kept = 0;    // by the runtime, all the time
    double graphs = 0;  // outputs of CUDA graphs
    double beside = 0;  // within a backward pass, while it holds the most
  };
  [[nodiscard]] std::vector<StageRest> rest_of_stages(const Plan&, const HeldChunks&, const Shape&,
                                                      const Layers&) const;
  [[nodiscard]] static double beside_of(const Counts& chunk, const std::vector<LayerVariant>&,
                                        const Layers&);
  // Of StageRest::kept, what is gathered of sharded weights and gradients.
  [[nodiscard]] std::vector<double> gathered_of_stages(const Plan&, const Shape&,
                                                       const Layers&) const;
  // Bytes of a plan with these settings, by stage and of the largest.
  [[nodiscard]] std::vector<double> own_peaks(const Plan&, const Shape&, const Layers&);
  [[nodiscard]] std::int64_t own_peak(const Plan&, const Shape&, const Layers&);
  // For by_choice.
  const std::vector<LayerSavings>& savings_of_layers(const PlanParts&, const CountedLayers&);
  [[nodiscard]] bool host_holds(const Plan&, const StepTail&) const;
  [[nodiscard]] ChoiceTimes times_of_choices(const Plan&, const Sources&, const PlanParts&,
                                             const ChoiceWays&, const std::vector<LayerSavings>&);
  // [stage][moment][kind of chunk]
  [[nodiscard]] std::vector<std::vector<std::vector<double>>> held_kinds(const Schedule&,
                                                                         const Shape&);
  [[nodiscard]] double passes_of_chunk(const Plan&) const;  // forward ones, in a step
  // So much of what is saved beside state; of each stage, or of the largest.
  [[nodiscard]] std::vector<double> peaks(const Plan&, Sharding, const Shape&, const Layers&,
                                          double saved);
  [[nodiscard]] std::int64_t peak(const Plan&, Sharding, const Shape&, const Layers&,
                                  double saved);
  const HeldChunks& held_of(const Schedule&);

  [[nodiscard]] std::int64_t outside(const Plan&) const;  // bytes the runtime holds beside
  [[nodiscard]] std::int64_t least_outside(Plan) const;   // of all settings
  [[nodiscard]] std::int64_t peak_of_family(const Plan& ordered, const PlanParts& of_that,
                                            const Plan&);

  const Estimator& estimator_;
  const Problem& problem_;
  Runtime runtime_;
  CountedLayers counted_;                                   // of plans whose layers are alike
  Known<int, CountedLayers, std::hash<int>> counted_apart_;  // of others, by PlanParts::layout
  Known<int, Shape, std::hash<int>> shapes_;                // by PlanParts::layout
  // By PlanParts::layers, scope, clock, and layout if its layers are not alike.
  Known<NumberKey<4>, Layers, KeyHash> layers_;
  Known<NumberKey<4>, Layers, KeyHash> exchanges_;  // by PlanParts::layers, clock, and which
  Known<int, std::vector<LayerSavings>, std::hash<int>> savings_;  // by PlanParts::layers
  Known<int, Profile, std::hash<int>> profiles_;            // by clock
  Known<NumberKey<24>, StepTail, KeyHash> tails_;
  Known<ScheduleKey, HeldChunks, KeyHash> held_;
  Known<ScheduleKey, SplitOrder, KeyHash> orders_;
};

}  // namespace pleat
