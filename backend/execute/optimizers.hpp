// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The steps of the optimizers on this rank's shard, each in a file of its own. What comes before
// and after all of them is elsewhere: gradient_norm, main_params, host_memory.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// AdamW: on fp32 moments and main parameters; on moments in other types; on main parameters of
// which the weights are the upper half (remainder16).
void adamw(const Call&, Execution&);

// SGD with momentum.
void momentum(const Call&, Execution&);

// LAMB: directions, norms of whole parameters from what each rank has of them, the step.
void lamb(const Call&, Execution&);
void lamb_norms(const Call&, Execution&);
void lamb_step(const Call&, Execution&);

// Muon, one matrix after the other: of those that reach into this rank's shard. The gradients'
// storage holds the momentum of the whole bucket; the workspace is three of the largest matrix.
void muon_momentum(const Call&, Execution&);
void gather_matrix(const Call&, Execution&);  // the peers' parts of a matrix into the workspace
void newton_schulz(const Call&, Execution&);
void step_matrix(const Call&, Execution&);

}  // namespace pleat::execute
