// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A whole step priced: what estimate() summarises and predicted_trace() draws.
#pragma once

#include <vector>

#include "simulator/chunk_costs.hpp"
#include "simulator/pipeline.hpp"
#include "simulator/step_costs.hpp"

namespace pleat {

struct StepTimeline {
  ClusterView view;
  Binding expected, capacity;
  std::vector<StageCosts> stages;
  Seconds transfer;                                  // slowest between two stages
  std::vector<std::vector<StepOpCost>> prologue, epilogue;  // by stage
  PipelineTiming pipeline;
  Seconds pipeline_end_without_transfer;
  StepEnd step_end;
};

[[nodiscard]] StepTimeline price_step(const Program&, const ClusterSpec&, const Profile&,
                                      bool keep_events);

}  // namespace pleat
