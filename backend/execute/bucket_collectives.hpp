// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums of a bucket's gradients and gathers of its weights, level by level: over the ranks of a
// shard group, over replicas of the shards, over stages that hold the same layers. Of layers whose
// weights are sharded (ZeRO-2 and 3): what sharded_layers.hpp says.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void gather_bucket(const Call&, Execution&);
void reduce_bucket(const Call&, Execution&);
void all_reduce_bucket(const Call&, Execution&);
void all_reduce_replicated(const Call&, Execution&);

}  // namespace pleat::execute
