// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What `pleat train` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "application/processes/devices.hpp"
#include "application/training/optimizer_options.hpp"
#include "application/processes/processes.hpp"
#include "application/training/train_checkpoints.hpp"
#include "application/training/train_log.hpp"

namespace pleat {

struct TrainOptions {
  std::string data = "bible";  // DataRequest's words
  std::string tokenizer = "byte", split = "1", eod;
  std::int64_t order_samples = 0;  // 0: as many as the steps take
  std::string valid_data;          // held out; empty: the validation share of `split`
  int eval_interval = 0;           // 0: after the last step only
  int eval_iters = 0;              // global batches; 0: no evaluation
  bool eod_mask_loss = false;  // no loss on what follows the end of a document
  std::string from;  // folder of a Hugging Face model to start from; empty: the seed's weights
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

}  // namespace pleat
