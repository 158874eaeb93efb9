// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a training run reads, and which losses it has, from the options of `pleat train`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/training/earlier_run.hpp"
#include "application/training/train_options.hpp"
#include "backend/trainer.hpp"

namespace pleat {

// Samples, those held out, and what a document's end does. A run that goes on reads the order it
// began with; where it takes more samples another order follows, and with `--load` other data may.
// ConfigError where options contradict the data or each other.
[[nodiscard]] RunData set_data(const TrainOptions&, const Program&,
                               const std::optional<EarlierRun>&, TrainConfig&);

// Weights of the further losses: as asked, else those of the earlier run, else the model's. A
// router that nothing balances gets a balance loss, which `assumed` then says. ConfigError where a
// model has no router that they could be of.
void set_losses(const TrainOptions&, const std::optional<EarlierRun>&, ModelSpec&,
                std::vector<std::string>& assumed);

}  // namespace pleat
