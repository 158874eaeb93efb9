// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What `pleat train` says of every step: a line, a JSON object, TensorBoard scalars.
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "application/target.hpp"
#include "backend/log/event_file.hpp"
#include "backend/trainer.hpp"

namespace pleat {

struct LogOptions {
  std::string json_file, tensorboard_folder;  // empty: none
};

// "step    7   loss 3.2145   0.412 s"
[[nodiscard]] std::string step_line(int step, const StepRecord&);

class TrainLog {
 public:
  // Opens the files. Throws ConfigError (device_or_io).
  TrainLog(const LogOptions&, const Request&);

  // "step    7   loss 3.2145   0.412 s   4971 tok/s   MFU 31.2 %   grad 0.81   lr 0.001   load 1.3"
  [[nodiscard]] std::string line(int step, const StepRecord&) const;
  // Into the files. Throws ConfigError (device_or_io).
  void add(int step, const StepRecord&);

 private:
  [[nodiscard]] double tokens_per_second(const StepRecord&) const;
  // Over all GPUs' peak.
  [[nodiscard]] double mfu(const StepRecord&, double peak) const;

  double tokens_ = 0;  // of a step
  double flops_ = 0;   // of the model, for a token
  double bf16_peak_ = 0, product_peak_ = 0;  // of all GPUs, in a second
  int skipped_ = 0;    // steps so far
  std::string json_path_;
  std::ofstream json_;
  std::optional<EventFile> events_;
};

}  // namespace pleat
