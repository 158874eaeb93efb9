// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs a plan on the bundled backend and sets what was measured beside what was predicted.
#pragma once

#include "application/target.hpp"
#include "application/training/train_options.hpp"

namespace pleat {

// Prints as it goes. ConfigError where the options contradict the request, the data or this
// machine.
void train_and_compare(const TrainOptions&, Request);

}  // namespace pleat
