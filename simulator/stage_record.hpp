// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// All that one stage contributes to a step, whatever the order of its slots: memoised by the
// estimator, summed up by the step timeline.
#pragma once

#include "simulator/layer_costs.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_costs.hpp"

namespace pleat {

// What it holds beside its slots' own tensors, at any clock.
struct StageHoldings {
  StateBytes state;
  EpilogueMemory epilogue_memory;
  RuntimeBytes runtime;
  // By chunk, from its forward to its backward pass; empty where there is nothing.
  std::vector<std::int64_t> graph_outputs;  // at fixed places, in device memory
  std::vector<std::int64_t> offloaded;      // activations in host memory
};

struct StageRecord : StageHoldings {
  StageCosts costs;
  std::vector<StepOpCost> prologue, epilogue;  // parallel to StageProgram's
  Seconds transfer;              // of its slowest send; zero where it sends nothing
  SourceClass source = SourceClass::measured;  // the worst of its prices
};

// A stage, and what is worked out once for its records at all clocks.
struct PreparedStage {
  PreparedStage(const CompiledFrom&, const StageProgram&);  // refers to both
  PreparedStage(const PreparedStage&) = delete;
  PreparedStage& operator=(const PreparedStage&) = delete;

  const CompiledFrom from;
  const StageProgram& program;
  const StageHoldings holdings;
  const std::vector<Tensor> shards;  // shard_view
};

// The costs of the stage's layers, and of pairs of them where passes are paired, are given; step
// operations are priced here.
[[nodiscard]] StageRecord record_stage(const PreparedStage&,
                                       std::span<const LayerCosts* const> layers,
                                       const PairSource&, const ClusterView&, const Profile&);

}  // namespace pleat
