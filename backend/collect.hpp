// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Full tensors by their global names, put together from what the ranks hold.
#pragma once

#include "backend/executor.hpp"

namespace pleat {

// Adds one rank's weights and its shards of the gradients to the result. After every rank was added
// each tensor is complete; replicas add the same values.
void collect_tensors(const StageProgram&, int ep_rank, Executor&, TrainResult&);

}  // namespace pleat
