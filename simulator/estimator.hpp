// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Estimates many plans of one model, workload and cluster. Remembers what plans share: programs and
// prices of layers, the records of stages, the dependencies of schedules. Gives what
// estimate(compile(plan)) gives, bit for bit.
#pragma once

#include <memory>
#include <optional>

#include "simulator/estimate.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {

class LayerLibrary;
struct StageComposition;

// What a plan is put together from. The numbers stand for the layers and the layout: plans with the
// same number share them.
struct PlanParts {
  int layers = 0, layout = 0;
  LayerLibrary* library = nullptr;
  const std::vector<StageComposition>* stages = nullptr;
};

// The stages of a plan at the burst clock, and the order of their slots.
struct PlanStages {
  std::shared_ptr<const StageRecords> records;
  std::shared_ptr<const ScheduleTable> table;
};

class Estimator {
 public:
  Estimator(ModelSpec, WorkloadSpec, ClusterSpec, Profile, Runtime);
  // For the same job; it shares what is known of layers with the other one, and nothing else.
  [[nodiscard]] static Estimator with_layers_of(const Estimator&);
  ~Estimator();
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  // The plan must satisfy every named constraint. Several threads may call it at once.
  [[nodiscard]] StepEstimate operator()(const Plan&) const;

  // The same, for who wants to know only what takes no longer than `limit`. The step at the burst
  // clock costs half of an estimate and none is shorter, so where that is longer the rest is left
  // out: then there is no estimate, and `least` is that step.
  struct Limited {
    Seconds least;
    std::optional<StepEstimate> estimate;
  };
  [[nodiscard]] Limited up_to(Seconds limit, const Plan&) const;

  // For plans that hardly differ, such as those of a local search: the clock at which a plan's step
  // is timed (kClockSteps), and the step of another one at that clock, which costs a third of an
  // estimate. It is the estimate's step where the plan sustains the same clock itself.
  [[nodiscard]] int clock(const Plan&) const;
  [[nodiscard]] Seconds step_at(const Plan&, int clock) const;

  // Worked out where they are not known yet; they live as long as the estimator.
  [[nodiscard]] PlanParts parts(const Plan&) const;

  // Of a plan whose stages all do the same.
  [[nodiscard]] PlanStages stages(const Plan&) const;

  // Frees the programs of layers, which take most of the memory. Prices stay.
  void forget_programs() const;

  // What has been worked out so far; for reports and benchmarks.
  struct Counts {
    std::size_t layers = 0;     // sets of layers that plans share
    std::size_t memos = 0;      // groups of such layers
    std::size_t stages = 0;     // pipelines of stage records
    std::size_t schedules = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  class Memory;
  explicit Estimator(std::unique_ptr<Memory>);
  std::unique_ptr<Memory> memory_;
};

}  // namespace pleat
