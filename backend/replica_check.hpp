// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Data-parallel replicas hold the same weights to the bit; a device that flips one is found here.
#pragma once

#include "backend/trainer.hpp"

namespace pleat {

// Called by every rank between two steps. Throws ConfigError (corruption) on all of them, naming
// the ranks whose weights differ from those of most of their replicas (of the first, if there are
// two).
void check_replicas(const StepBoundary&);

}  // namespace pleat
