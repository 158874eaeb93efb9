// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon's step, one matrix after the other: of those that reach into this rank's shard. The
// gradients' storage holds the momentum of the whole bucket; the workspace is three of the largest
// matrix.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void muon_momentum(const Call&, Execution&);
void gather_matrix(const Call&, Execution&);  // the peers' parts of a matrix into the workspace
void newton_schulz(const Call&, Execution&);
void step_matrix(const Call&, Execution&);

}  // namespace pleat::execute
