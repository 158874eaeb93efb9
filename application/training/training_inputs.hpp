// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a training run reads, and which losses it has, from the options of `pleat train`.
#pragma once

#include "backend/trainer.hpp"
#include "application/training/train_options.hpp"

namespace pleat {

// Samples, those held out, and what a document's end does. ConfigError where options contradict the
// data or each other.
void set_data(const TrainOptions&, const Program&, TrainConfig&);

// Weights of the further losses. ConfigError where a model has no router that they could be of.
void set_losses(const TrainOptions&, ModelSpec&);

}  // namespace pleat
