// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Compares the weights of data-parallel replicas, which are the same to the bit: this finds a
// device that flips one.
#pragma once

#include "backend/trainer.hpp"

namespace pleat {

// Called by every rank between two steps. Throws ConfigError (corruption) on all of them, naming
// the ranks whose weights differ from those of most of their replicas (of the first, if there are
// two).
void check_replicas(const StepBoundary&);

}  // namespace pleat
