// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What one plan costs, the answers that are asked for first at the top: step time, days, tokens a
// second, MFU, memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "console/terminal.hpp"
#include "console/wrap.hpp"
#include "core/json/json_value.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {

// How long so many tokens take, without failures and checkpoints.
struct TrainingTime {
  double tokens = 0, steps = 0;
  Seconds time, low, high;  // at the step time, and at the ends of its band
};
[[nodiscard]] TrainingTime training_time(const StepEstimate&, const WorkloadSpec&, double tokens);
[[nodiscard]] JsonValue training_json(const TrainingTime&);

// "31.5% of the mxfp8 peak", "63.0% of bf16's"; one share where both peaks are the same.
[[nodiscard]] std::vector<std::string> mfu_fields(const StepEstimate&);

// Step time first, then days for `tokens` if there are any, throughput, MFU, memory, what limits
// it.
[[nodiscard]] std::vector<Fact> step_facts(const StepEstimate&, const Problem&, Runtime,
                                           std::optional<double> tokens, const Terminal&);

// Of the first line of a report: model, GPUs, cluster, batch.
[[nodiscard]] std::vector<std::string> job_fields(const Problem&, int gpus);

// `pleat predict`: the answers, the plan, where the step goes, memory by stage.
[[nodiscard]] std::string step_text(const StepEstimate&, const Request&,
                                    std::optional<double> tokens, const Terminal&);

// "assumed: --tp 1, --cp 1" as lines; empty when nothing was.
[[nodiscard]] std::string assumed_lines(const std::vector<std::string>&, const Terminal&);

}  // namespace pleat::cli
