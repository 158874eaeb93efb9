// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Between the main parameters that the optimizer steps and the weights that training reads, over
// this rank's shard.
#pragma once

#include "backend/execute/call.hpp"
#include "core/program/program.hpp"

namespace pleat::execute {

struct Execution;

void cast_weights(const Call&, Execution&);
// The same of those that the operation steps. Where a step is skipped they change only if codes had
// taken their place.
void round_weights(const Op&, View main_params, View weights, Bucket, Execution&);

// Segments of the state to copy.
using ChosenSegments = bool (*)(const BucketState&, const StateSegment&);
// Their main parameters from the weights, or (`back`) the weights from them.
void copy_weights(Execution&, ChosenSegments, bool back);

// When weights are new: the main parameters are theirs.
void initialise_main_params(Execution&);
// Weights that the host steps are its main parameters too.
void refresh_host_weights(Execution&);

}  // namespace pleat::execute
