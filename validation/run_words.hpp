// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a published run names, in our terms: its settings and its model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"
#include "validation/measured_run.hpp"

namespace pleat {

// Words of published runs to values of a plan. What has no counterpart is a note or, where the
// prediction would mean something else without it, a reason not to predict.

struct WordProblems {
  std::vector<std::string> notes;        // left out of the prediction
  std::vector<std::string> unsupported;  // reasons not to predict
};

[[nodiscard]] Precision precision_of_word(const std::string&, WordProblems&);
[[nodiscard]] Sharding sharding_of_word(const std::string&, WordProblems&);
[[nodiscard]] Dispatcher dispatcher_of_word(const std::string&, WordProblems&);
[[nodiscard]] CudaGraph cuda_graph_of_word(const std::string&);
[[nodiscard]] PipelineSchedule schedule_of_word(const std::string&, WordProblems&);
[[nodiscard]] CpComm cp_comm_of_word(const std::string&, WordProblems&);
void apply_recompute_words(const RecomputeWords&, Plan&, WordProblems&);
void apply_offload_words(const std::vector<std::string>&, Plan&, WordProblems&);
void apply_routing_words(const std::string&, const ModelSpec&, WorkloadSpec&);
// What the recipes of a release do where a run does not say.
struct RecipeTypes {
  bool narrow_gradients = false, fp8_params = false;
};
void apply_optimizer_words(const OptimizerWords&, const RecipeTypes&, Plan&);

// The model of a published run: a shipped one or a Hugging Face object, cut to the depth that ran.

// Throws ConfigError for a model that does not ship or cannot be read.
[[nodiscard]] ModelSpec model_of_run(const MeasuredRun&);

// The first `layers` decoder layers; further ones repeat the last.
void cut_depth(ModelSpec&, std::int64_t layers);

}  // namespace pleat
