// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention and rotary positions. A causal core over whole sequences is one kernel; with context
// parallelism, windows, documents, sinks or narrow operands it goes over the keys piece by piece:
// gathered ones in rank order, one an operation in a ring.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void attention(const Call&, Execution&);           // and mla_attention
void attention_backward(const Call&, Execution&);  // and mla_attention_bwd
void rope(const Call&, Execution&);
void rope_bwd(const Call&, Execution&);

}  // namespace pleat::execute
