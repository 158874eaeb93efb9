// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// To host memory and back: activations between a layer's passes; of the optimizer its state between
// steps, or the gradients and weights of what the host steps.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void offload(const Call&, Execution&);
void reload(const Call&, Execution&);
void offload_state(const Call&, Execution&);
void reload_state(const Call&, Execution&);
void offload_gradients(const Call&, Execution&);  // of this rank's shard
void reload_weights(const Call&, Execution&);     // of this rank's shard

}  // namespace pleat::execute
