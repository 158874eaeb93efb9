// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer's numbers and the schedule of its learning rate, under Megatron's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/trainer.hpp"

namespace pleat {

struct OptimizerOptions {
  double lr = 1e-3, min_lr = 0, warmup_init = 0;
  std::string decay_style = "constant", wsd_decay_style = "exponential";
  std::int64_t warmup_iters = 0, wsd_decay_iters = 0;
  std::optional<std::int64_t> decay_iters;  // default: --steps
  double weight_decay = 0;
  bool tables_without_decay = false;
  double clip_grad = 1;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, sgd_momentum = 0.9;
  double muon_momentum = 0.9, muon_extra_scale = 1;
  bool muon_nesterov = false;
  std::string muon_scale = "spectral";
};

// Throws ConfigError (bad_request) where the numbers are no schedule.
void set_optimizer(const OptimizerOptions&, int steps, TrainConfig&);

// All numbers, for what tells two runs apart.
[[nodiscard]] std::string optimizer_text(const TrainConfig&);

}  // namespace pleat
