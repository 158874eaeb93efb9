// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs a plan on the bundled backend and sets what was measured beside what was predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/trainer.hpp"
#include "cli/plan_options.hpp"
#include "cli/request.hpp"
#include "cli/workflow/devices.hpp"
#include "cli/workflow/optimizer_options.hpp"
#include "cli/workflow/train_checkpoints.hpp"
#include "cli/workflow/train_log.hpp"
#include "cli/workflow/processes.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {

struct TrainOptions {
  PlanOptions plan;
  std::string data = "bible";  // DataRequest's words
  std::string tokenizer = "byte", split = "1", eod;
  std::int64_t order_samples = 0;  // 0: as many as the steps take
  std::string valid_data;          // held out; empty: the validation share of `split`
  int eval_interval = 0;           // 0: after the last step only
  int eval_iters = 0;              // global batches; 0: no evaluation
  bool eod_mask_loss = false;  // no loss on what follows the end of a document
  std::string from;            // folder of a Hugging Face model to start from; empty: the seed's weights
  CheckpointOptions checkpoints;
  LogOptions log;
  int steps = 20;
  OptimizerOptions optimizer;
  std::uint64_t seed = 1234;
  bool forced_routing = false;
  // Of the model (MoeSpec, ModelSpec); what is not said stays as its file says.
  std::optional<double> aux_loss, seq_aux_loss, z_loss, mtp_loss;
  double bias_update = 1e-3;   // of models with an expert bias
  std::string trace_file;      // measured spans of the last step; empty: none
  bool json = false;
  DeviceOptions device;
  ProcessOptions processes;
};

// `pleat train`.
void train_and_compare(const TrainOptions&);

// A file's bytes, or for "bible" the King James Bible, kept in `cache` after the first time.
[[nodiscard]] std::vector<std::uint8_t> training_text(const std::string& source,
                                                      const std::string& cache);

// The most bytes that any rank held.
[[nodiscard]] std::int64_t measured_peak(const TrainResult&);

// The memory model's answer for the routed counts that the run recorded in its last step: the most
// over the ranks. Equals measured_peak to the byte for a run of one step.
// `host`: the same of host memory.
[[nodiscard]] std::int64_t recorded_peak(const Program&, const TrainResult&, bool host = false);

// Median of the steps' times; the first step warms up and is left out if there are more.
[[nodiscard]] Seconds median_step(const std::vector<StepRecord>&);
[[nodiscard]] double median(std::vector<double> values);

// "step    7   loss 3.2145   0.412 s"
[[nodiscard]] std::string step_line(int step, const StepRecord&);

}  // namespace pleat::cli
